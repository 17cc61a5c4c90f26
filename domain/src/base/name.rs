//! Names of credentials: the log, mails and pages show them as the names of those who acted.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::confusable::skeleton;
use crate::base::text::{is_invisible, nfkc};

/// The longest name, in characters.
pub const NAME_MAX: usize = 200;
/// The server's own name in the log, which no key may have.
pub const SERVER: &str = "placet";
/// The name under which the first page of development mode asks its questions. No new key may have this name: the key could
/// read and withdraw those questions.
pub const DEVELOPMENT: &str = "placet/development";
/// The name in the log of changes that a server makes at its start because its configuration file says so.
pub const CONFIGURATION: &str = "placet/configuration";
/// The names under which the server itself acts, with their purpose.
const OURS: [(&str, &str); 3] = [
    (SERVER, "that is the server's own name in the log"),
    (DEVELOPMENT, "under that name the server's own page asks questions in development mode"),
    (CONFIGURATION, "under that name the server changes people and groups as its configuration file says"),
];

/// The beginning of the names under which the command line acts, `local:<uid>@<host>`.
pub const LOCAL: &str = "local:";
/// The beginning of the names under which senders tell of events by a signature, `webhook:<name>`.
pub const SENDER: &str = "webhook:";

/// The owner of a credential. It has a type of its own, so that it is not taken for a name: the owner decides who may not answer,
/// and the name decides who may read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(pub String);

impl Owner {
    /// The owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The form in which names are stored and compared: NFKC, without spaces around it, and without invisible characters.
///
/// Keys and questions that are older than the function [`normal`] keep their names as they were given, because the log quotes
/// these names. So a decision that depends on a name compares forms. Only the lists of an agent's own intents and questions use
/// the name as stored.
pub fn form(name: &str) -> String {
    in_form(name).into_owned()
}

/// The [`form`] of a name. Most names stand in it already, and are borrowed.
pub fn in_form(name: &str) -> Cow<'_, str> {
    if let Some(plain) = plain(name) {
        return plain.into();
    }
    let shown: String = nfkc(name).chars().filter(|c| !is_invisible(*c)).collect();
    shown.trim().to_owned().into()
}

/// The form of a name of printable ASCII, which is the name itself; `None` for every other name.
fn plain(name: &str) -> Option<&str> {
    name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()).then(|| name.trim())
}

/// Whether both names have the same form.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || in_form(one) == in_form(other)
}

/// Whether both names have the same form, apart from the case of letters. The rules that keep an agent from answering its own
/// question compare in this way: a name that is typed in another case must not get around them.
pub fn is_same_in_any_case(one: &str, other: &str) -> bool {
    if let (Some(one), Some(other)) = (plain(one), plain(other)) {
        return one.eq_ignore_ascii_case(other);
    }
    in_form(one).to_lowercase() == in_form(other).to_lowercase()
}

/// Whether a name is another one or stands below it (`a/b` is below `a`); both are in the form of [`form`].
pub(crate) fn is_at_or_below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The form of a name that may be given to a key. Names in this form never differ only in characters that show nothing.
///
/// # Errors
///
/// The rule that the name breaks, with a message: too long or empty, an invisible character, or a name
/// under which the server acts.
pub fn normal(name: &str) -> Result<String, (&'static str, String)> {
    if name.chars().any(is_invisible) {
        return Err(("characters", "holds no control characters and none that show nothing".into()));
    }
    let normal = form(name);
    if normal.is_empty() || normal.chars().count() > NAME_MAX {
        return Err(("length", format!("must be 1 to {NAME_MAX} characters, not all of them spaces")));
    }
    if let Some((ours, why)) = OURS.into_iter().find(|(ours, _)| is_alike(&normal, ours)) {
        return Err(("reserved", format!("must not be {ours:?} or look like it: {why}")));
    }
    if skeleton(&normal).starts_with(&skeleton(LOCAL)) {
        return Err((
            "reserved",
            format!("must not begin with {LOCAL:?} or look like it: that names an account of the server's machine"),
        ));
    }
    if skeleton(&normal).starts_with(&skeleton(SENDER)) {
        return Err((
            "reserved",
            format!("must not begin with {SENDER:?} or look like it: that names a sender of the configuration file"),
        ));
    }
    Ok(normal)
}

/// Whether a person would take one name for the other: only letters and digits count, not accents, spaces and marks.
fn is_alike(one: &str, other: &str) -> bool {
    let letters = |text: &str| skeleton(text).chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_stay_as_they_are() {
        for name in [
            "refund-agent",
            "Дежурный",
            "Ελένη",
            "日本太郎",
            "김철수",
            "さくら",
            "محمد",
            "שרה",
            "नेहा",
            "สมชาย",
            "გიორგი",
            "Անի",
            "Ạnh Nguyễn",
            "ሰላም",
            "alice@example.com",
            "o'neil & söhne (ops)",
        ] {
            assert_eq!(normal(name).as_deref(), Ok(name));
        }
    }

    /// Names that differ only in how Unicode writes the same characters get one form. Otherwise the two keys would look like
    /// one person in the log.
    #[test]
    fn one_name_has_one_form() {
        assert_eq!(normal("  cafe\u{301} ").as_deref(), Ok("café"));
        assert_eq!(normal("ｂｏｔ").as_deref(), Ok("bot"));
        assert_eq!(normal("a\u{a0}b").as_deref(), Ok("a b"));
    }

    /// A key that was made before names were normalised still belongs to its owner: the old name and the name as people type it
    /// today count as the same.
    #[test]
    fn names_of_before_are_compared_in_their_form() {
        for (before, today) in [("Team A ", "Team A"), ("Ｏps", "Ops"), ("E\u{301}quipe", "Équipe"), ("O\u{200b}ps\n", "Ops")] {
            assert!(is_same(before, today) && is_same(today, before), "{before}");
            assert_eq!(normal(today).as_deref(), Ok(form(before).as_str()));
        }
        for (one, other) in [("Ops", "ops"), ("Team A", "TeamA"), ("Équipe", "Equipe"), ("Ops", "Орs")] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    /// A rule that keeps an agent from answering its own question must not depend on how quickly two names are compared.
    #[test]
    fn names_are_compared_in_any_case_the_quick_way_as_the_slow_one() {
        let names = [
            "Ops",
            "ops",
            " OPS ",
            "Ｏps",
            "o\u{200b}PS",
            "K",
            "k",
            "\u{212a}",
            "Équipe",
            "éQUIPE",
            "E\u{301}quipe",
            "",
            " ",
            "o ps",
        ];
        for one in names {
            for other in names {
                let is_same = form(one).to_lowercase() == form(other).to_lowercase();
                assert_eq!(is_same_in_any_case(one, other), is_same, "{one:?} {other:?}");
            }
        }
        assert!(
            is_same_in_any_case("Ops", " oPS ") && is_same_in_any_case("k", "\u{212a}") && !is_same_in_any_case("ops", "opt")
        );
    }

    #[test]
    fn what_looks_like_the_server_or_shows_nothing_is_refused() {
        for name in [
            "placet",
            "Placet",
            "PLACET",
            " placet ",
            "рlасеt",
            "ＰＬＡＣＥＴ",
            "𝐩𝐥𝐚𝐜𝐞𝐭",
            "pIacet",
            "p1acet",
            "plácet",
            "p.l.a.c.e.t",
            "placet:",
            "placet/development",
            "Placet Development",
            "Placet Devеlopment ",
            "placet develop-ment",
            "placet/configuration",
            "Placet Cоnfiguration",
        ] {
            assert_eq!(normal(name).unwrap_err().0, "reserved", "{name}");
        }
        for invisible in "\0\n\t\u{1b}\u{7f}\u{85}\u{ad}\u{200b}\u{200d}\u{200e}\u{202e}\u{2028}\u{2060}\u{2800}\u{3164}\u{fe0f}\u{feff}\u{e0041}".chars() {
            assert_eq!(normal(&format!("bo{invisible}t")).unwrap_err().0, "characters", "{:04X}", u32::from(invisible));
        }
        for name in ["", "  ", "\u{3000}", &"x".repeat(NAME_MAX + 1), &"㌔".repeat(NAME_MAX)] {
            assert_eq!(normal(name).unwrap_err().0, "length", "{name}");
        }
        assert!(normal(&"ä".repeat(NAME_MAX)).is_ok());
        assert!(
            ["placets", "planet", "placet-gateway", "implacet", "developer", "development", "placet-developer", "configuration"]
                .iter()
                .all(|name| normal(name).is_ok())
        );
    }
}
