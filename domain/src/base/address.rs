//! Addresses that a question may be sent to: only addresses that every mail server reads the same way.
//!
//! Guarantee: a message to an address of an allowed domain stays at that domain. Mechanism: only certain characters may stand
//! before the @, because mail servers read some other characters as a route: a server of `example.com` hands
//! `bot%evil.example@example.com` and `evil.example!bot@example.com` on to `evil.example`. Failure: an address that breaks the
//! rule is refused, never corrected.

use std::collections::BTreeSet;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

/// The longest address, in bytes (RFC 5321 §4.5.3.1.3).
pub const ADDRESS_MAX: usize = 254;
/// The longest part before the @, in bytes (RFC 5321 §4.5.3.1.1).
pub const LOCAL_PART_MAX: usize = 64;
/// The characters that an address may have before its @, in words.
pub const PLAIN_RULE: &str = "letters, digits and . _ - + before the @, and a domain";

/// The characters besides letters and digits that may stand before the @ of any address.
const PLAIN: &[u8] = b"._-+";
/// The further characters that may stand before the @ of an address that an operator wrote out in full.
const WRITTEN_OUT: &[u8] = b"'=&";

/// Addresses and domains (`*@example.com`) that questions may be sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    addresses: BTreeSet<String>,
    domains: BTreeSet<String>,
}

impl AllowList {
    /// Reads a list of addresses and `*@domain` patterns.
    ///
    /// # Errors
    ///
    /// The first entry that is neither.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut list = Self::default();
        for entry in entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()) {
            if let Some(pattern) = entry.strip_prefix("*@") {
                let domain = domain(pattern).ok_or_else(|| format!("{entry:?} is no domain pattern like *@example.com"))?;
                list.domains.insert(domain);
            } else {
                let address = exact(entry).ok_or_else(|| format!("{entry:?} is no plain e-mail address"))?;
                list.addresses.insert(address.to_lowercase());
            }
        }
        Ok(list)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.domains.is_empty()
    }

    /// Whether `address` is on the list. A domain matches as a whole: `*@example.com` does not allow `sub.example.com`. A domain
    /// pattern allows only plain addresses: an address with `'`, `=` or `&` must be on the list itself.
    pub fn allows(&self, address: &str) -> bool {
        let Some(address) = exact(address) else { return false };
        let of_domain = |plain: String| plain.rsplit_once('@').is_some_and(|(_, domain)| self.domains.contains(domain));
        self.addresses.contains(&address.to_lowercase()) || plain(&address).is_some_and(of_domain)
    }
}

/// Reads an address in the form that every caller may use ([`PLAIN_RULE`]): no display name, no quotes, no comment, no route, no
/// address literal, ASCII before the @. `None` for other text. The domain is returned in its ASCII form and in small letters, so
/// that two spellings are one address.
pub fn plain(text: &str) -> Option<String> {
    read(text, &[])
}

/// As [`plain`], for an address that an operator wrote out in full: it may contain `'`, `=` and `&` as well.
pub fn exact(text: &str) -> Option<String> {
    read(text, WRITTEN_OUT)
}

/// The addresses without repetitions; addresses that differ only in case are the same.
pub fn each_once(addresses: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    addresses.into_iter().filter(|address| seen.insert(address.to_lowercase())).collect()
}

fn read(text: &str, besides: &[u8]) -> Option<String> {
    let (local, after) = text.split_once('@')?;
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) || besides.contains(&byte);
    let is_local = local.len() <= LOCAL_PART_MAX
        && local.bytes().all(is_taken)
        // Words with single dots between them; any other local part needs quotes.
        && local.split('.').all(|word| !word.is_empty())
        // Programs that pass a mail on would take an address that begins with `-` for an option.
        && !local.starts_with('-');
    let address = format!("{}@{}", local, domain(after).filter(|_| is_local)?);
    (address.len() <= ADDRESS_MAX).then_some(address)
}

/// A domain in its ASCII form and in small letters. An IP address is no domain, with brackets or without.
fn domain(text: &str) -> Option<String> {
    let domain = Uts46::new().to_ascii(text.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify).ok()?;
    let is_number = domain.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    (!is_number).then(|| domain.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_a_domain_are_one_address() {
        for spelling in ["ops@bücher.example", "ops@BÜCHER.example", "ops@xn--bcher-kva.example", "ops@bu\u{308}cher。example"]
        {
            assert_eq!(plain(spelling).as_deref(), Some("ops@xn--bcher-kva.example"), "{spelling}");
            assert!(AllowList::parse(["*@xn--bcher-kva.example"]).unwrap().allows(spelling), "{spelling}");
            assert!(AllowList::parse(["ops@xn--bcher-kva.example"]).unwrap().allows(spelling), "{spelling}");
        }
        assert!(AllowList::parse(["*@bücher.example"]).unwrap().allows("ops@xn--bcher-kva.example"));
        let both = ["Ops@example.com", "ops@EXAMPLE.com", "b@example.com"].map(|text| exact(text).unwrap());
        assert_eq!(each_once(both), ["Ops@example.com", "b@example.com"]);
    }

    #[test]
    fn lengths_hold_at_their_bounds_and_not_beyond() {
        let local = |bytes: usize| format!("{}@example.com", "a".repeat(bytes));
        assert!(plain(&local(LOCAL_PART_MAX)).is_some() && plain(&local(LOCAL_PART_MAX + 1)).is_none());
        let label = "b".repeat(62);
        let whole = |bytes: usize| format!("{}@{label}.{label}.{label}", "a".repeat(bytes - 1 - 3 * 62 - 2));
        assert_eq!(plain(&whole(ADDRESS_MAX - 1)).map(|address| address.len()), Some(ADDRESS_MAX - 1));
        assert!(plain(&whole(ADDRESS_MAX - 1).replacen('@', "@c.", 1)).is_none());
        assert!(domain(&"d".repeat(63)).is_some() && domain(&"d".repeat(64)).is_none());
    }

    #[test]
    fn an_address_written_out_may_hold_a_little_more() {
        let list = AllowList::parse(["*@example.com", "o'brien@example.com", "a=b&c@other.example"]).unwrap();
        for allowed in ["ada@example.com", "O'Brien@example.com", "a=b&c@OTHER.example"] {
            assert!(list.allows(allowed), "{allowed}");
        }
        for refused in ["d'arc@example.com", "a=b@example.com", "a&b@example.com", "ada@other.example", "ada@sub.example.com"] {
            assert!(!list.allows(refused), "{refused}");
        }
        for wrong in [
            "bot%evil.example@example.com",
            "a!b@example.com",
            "*@exa mple.com",
            "*@*.example.com",
            "*@",
            "@example.com",
            "*@127.0.0.1",
        ] {
            assert!(AllowList::parse([wrong]).is_err(), "{wrong}");
        }
    }
}
