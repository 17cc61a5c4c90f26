//! The login in a URL: it is refused if it can be read in more than one way.
//!
//! `postgres://placet:p@ss/w:rd@db/placet` can be read as a host `ss` and a database `w:rd@db/placet`, which would then be shown
//! to people and logged. A login that is not plain is refused, and the refusal does not repeat it.

/// How a login must be written, for messages about a login that is not plain.
pub const LOGIN_RULE: &str = "in a user or a password @ is written %40, / is %2F, : is %3A, ? is %3F, # is %23 and % is %25";

/// Whether a URL has no login, or a login that every reader understands alike: between `//` and the only `@`, with at most one
/// `:`, and every other special character percent-encoded.
pub fn is_plain(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return !url.contains('@') };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if scheme.contains('@') || tail.contains('@') {
        return false;
    }
    let Some((login, host)) = authority.split_once('@') else { return true };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    !host.contains('@') && is_encoded(user) && is_encoded(password)
}

/// Whether every character may stand in a URL as it is (RFC 3986), including percent signs with two digits behind them.
fn is_encoded(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_fine = match byte {
            b'%' => [bytes.next(), bytes.next()].iter().all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_in_one_way_or_refused() {
        for url in [
            "postgres://placet:pw@db.example/placet",
            "postgres://placet@a:1,b:2/placet?sslmode=disable",
            "postgres://placet:p%40ss%2Fw%3Ard@db.example/placet",
            "smtps://me%40example.com:a.b~c!$&'()*+,;=@mail.example.com",
            "https://placet.example/a?b#c",
            "https://hooks.example/%40me",
            "sqlite://a b.db",
            "no URL",
        ] {
            assert!(is_plain(url), "{url}");
        }
        for url in [
            "postgres://placet:p@ss/w:rd@db.example/placet",
            "postgres://placet:p@ss@db.example/placet",
            "postgres://placet:p/ss@db.example/placet",
            "postgres://placet:p?ss@db.example/placet",
            "postgres://placet:p#ss@db.example/placet",
            "postgres://placet:p:ss@db.example/placet",
            "postgres://placet:p%ss@db.example/placet",
            "postgres://placet:p%4@db.example/placet",
            "postgres://placet:p ss@db.example/placet",
            "postgres://placet:p\\ss@db.example/placet",
            "postgres://placet:pä@db.example/placet",
            "postgres://p[l:ss@db.example/placet",
            "https://hooks.example/services/s3cr3t@x",
            "placet:ss@db.example",
        ] {
            assert!(!is_plain(url), "{url}");
        }
    }
}
