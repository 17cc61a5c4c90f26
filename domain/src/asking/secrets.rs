//! Finds texts in a question that look like a secret: a secret must not be mailed to people, and a question stays in the log
//! (RFC-0025 §11).
//!
//! Only shapes count: a known prefix, a checksum, or a name in front of the text. Ids, digests and public keys are no secrets.
//! E-mail addresses and telephone numbers are personal, but too common in honest questions to be worth a warning; numbers of
//! payment cards and bank accounts are worth one. A finding names the place and the shape, and never repeats the text.
//!
//! Each text is searched by automata without backtracking: the time is linear in the length of the text, whatever it contains.

use std::fmt;
use std::iter;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::{Map, Value};

use crate::base::field::FieldError;
use crate::base::text::visible_line;
use crate::suspension::SuspensionChoice;
use crate::suspension::grounds::Grounds;
use crate::suspension::proposal::Proposal;
use crate::suspension::seeming::SeemingSecret;

/// The most findings that are reported about one question. Once the asker has removed these and asks again, the others are
/// reported.
pub const FINDINGS_MAX: usize = 20;
/// The longest member name that a path repeats, in bytes.
const NAME_BYTES_MAX: usize = 60;
/// The length of a run of random characters: shorter runs are too short for a secret, and longer ones are data.
const RANDOM_CHARS: std::ops::RangeInclusive<usize> = 32..=512;
/// How many bytes in front of a run of random characters are searched for the beginning of a URL (`://`) that contains the run.
const ADDRESS_BYTES: usize = 256;
/// The least entropy of a random text, in bits per character. Words and names do not reach it; random base64 of 32 characters
/// has at least 4.3.
const RANDOM_BITS: f64 = 4.0;
/// The least share, in percent, of pairs of neighbouring characters that differ in kind (upper case, lower case, digit) in a
/// random text. In random base64 it is 62, in `CamelCase` 35.
const RANDOM_CHANGES_PERCENT: usize = 45;

/// The kinds of secret that a text may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// The block of a private key.
    PrivateKey,
    /// A key of a known service.
    ServiceKey(&'static str),
    /// A JSON web token.
    WebToken,
    /// A bearer token.
    BearerToken,
    /// A URL with a password in it.
    AddressWithPassword,
    /// A value that is called a password, a secret or a key.
    Password,
    /// The number of a payment card.
    CardNumber,
    /// The number of a bank account.
    AccountNumber,
    /// A long random text.
    Random,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateKey => "a private key",
            Self::ServiceKey(name) => name,
            Self::WebToken => "a JSON web token",
            Self::BearerToken => "a bearer token",
            Self::AddressWithPassword => "an address with a password in it",
            Self::Password => "a password or a key",
            Self::CardNumber => "the number of a payment card",
            Self::AccountNumber => "an IBAN",
            Self::Random => "a long random text, such as a key",
        })
    }
}

/// A place in a question that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field, as a path: `context.order.card`.
    pub field: String,
    /// The kind of secret that the place looks like.
    pub shape: Shape,
}

/// The pattern of each shape. Some shapes are known by their pattern alone, and the text of the others is examined further.
#[rustfmt::skip]
static PATTERNS: [(Shape, &str); 21] = [
    (Shape::PrivateKey, r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY"),
    (Shape::ServiceKey("an AWS access key"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (Shape::ServiceKey("a GitHub token"), r"\b(?:gh[oprsu]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22})"),
    (Shape::ServiceKey("a GitLab token"), r"\bglpat-[A-Za-z0-9_-]{20}"),
    (Shape::ServiceKey("a Slack token"), r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10}"),
    (Shape::ServiceKey("a Slack token"), r"https://hooks\.slack\.com/services/T"),
    (Shape::ServiceKey("a Stripe key"), r"\b(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16}"),
    (Shape::ServiceKey("a key of an AI service"), r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32}"),
    (Shape::ServiceKey("a Google API key"), r"\bAIza[A-Za-z0-9_-]{35}"),
    (Shape::ServiceKey("an npm token"), r"\bnpm_[A-Za-z0-9]{36}"),
    (Shape::ServiceKey("a PyPI token"), r"\bpypi-AgE[A-Za-z0-9_-]{20}"),
    (Shape::ServiceKey("a SendGrid key"), r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32}"),
    (Shape::ServiceKey("a Placet key"), r"\bplacet_(?:agent|operator|admin|auditor|channel)_[A-Za-z0-9]{26}"),
    (Shape::ServiceKey("an answer link"), r"\bplc_[A-Za-z0-9_-]{40}"),
    (Shape::WebToken, r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."),
    (Shape::BearerToken, BEARER),
    (Shape::AddressWithPassword, r"://[^\s/:@?#]*:[^\s/@?#]+@"),
    (Shape::Password, ASSIGNMENT),
    (Shape::CardNumber, CARD),
    (Shape::AccountNumber, IBAN),
    (Shape::Random, RANDOM),
];

const ASSIGNMENT: &str = r#"(?i)(?:password|passwd|passphrase|secret|(?:api|access|private|secret)[_-]?key|(?:access|auth)[_-]?token)["']?\s{0,2}([=:])\s{0,2}["']?([^\s"',;&]{4,})"#;
const BEARER: &str = r"(?i)\bbearer\s{1,3}([a-z0-9._~+/-]{16,})";
const MEMBER: &str =
    r"(?i)(?:password|passwd|passphrase|secret|(?:api|access|private|secret)[_-]?key|(?:access|auth)[_-]?token)$";
/// Member names that often mean no secret: `token` may be the token of a page, and `pass` a step that was passed. So a value
/// under one of these names is a finding only if it has a digit and is long enough (see `is_assigned`).
const VAGUE_MEMBER: &str = r"(?:^|[_.-])(?i:token|pwd|pass|credentials?)$|[a-z](?:Token|Pwd|Pass|Credentials?)$";
const CARD: &str =
    r"\b(?:[0-9]{14,19}|[0-9]{4}([ -])[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}(?:[ -][0-9]{1,3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5})\b";
const IBAN: &str = r"\b[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b";
const RANDOM: &str = r"[A-Za-z0-9+/_=-]{32,}";

/// All patterns in one automaton: most texts match none, and are read only once to know that.
static SHAPES: LazyLock<RegexSet> = LazyLock::new(|| compiled(RegexSet::new(PATTERNS.map(|(_, pattern)| ascii(pattern)))));
static ASSIGNMENTS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(ASSIGNMENT))));
static MEMBERS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(MEMBER))));
static VAGUE_MEMBERS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(VAGUE_MEMBER))));
static BEARERS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(BEARER))));
static CARDS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(CARD))));
static IBANS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(IBAN))));
static RANDOMS: LazyLock<Regex> = LazyLock::new(|| compiled(Regex::new(&ascii(RANDOM))));

/// Makes each `\b` of a pattern a word boundary of ASCII. The rest of the pattern is left alone, so that a dot or a negated
/// class still matches whole characters of Unicode.
fn ascii(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them")]
fn compiled<T>(pattern: Result<T, regex::Error>) -> T {
    pattern.expect("a pattern of this file is no pattern")
}

/// Everything in a question that looks like a secret, at most [`FINDINGS_MAX`] places.
pub fn findings(
    question: &str,
    choices: &[SuspensionChoice],
    context: &Map<String, Value>,
    decision: Option<&Map<String, Value>>,
    fallback: Option<&Value>,
    schema: Option<&Map<String, Value>>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    text("question", question, &mut found);
    for (index, choice) in choices.iter().enumerate() {
        for (name, words) in
            [("value", Some(&choice.value)), ("label", Some(&choice.label)), ("description", choice.description.as_ref())]
        {
            text(&format!("choices[{index}].{name}"), words.map_or("", String::as_str), &mut found);
        }
        if let Some(metadata) = &choice.metadata {
            members(&format!("choices[{index}].metadata"), metadata, &mut found);
        }
    }
    members("context", context, &mut found);
    if let Some(decision) = decision {
        members("decision_record", decision, &mut found);
    }
    if let Some(fallback) = fallback {
        value("fallback_value", fallback, &mut found);
    }
    if let Some(schema) = schema {
        members("schema", schema, &mut found);
    }
    found.truncate(FINDINGS_MAX);
    found
}

/// Everything in a proposed action and in the schema of its fields that looks like a secret.
pub fn proposal_findings(proposal: Option<&Proposal>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(proposal) = proposal {
        members("proposal", &proposal.action, &mut found);
        if let Some(editable) = &proposal.editable {
            members("editable", editable.members(), &mut found);
        }
    }
    found.truncate(FINDINGS_MAX);
    found
}

/// Everything in the grounds of a question that looks like a secret.
pub fn grounds_findings(grounds: Option<&Grounds>) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(grounds) = grounds else { return found };
    text("question_key", grounds.question_key.as_deref().unwrap_or_default(), &mut found);
    if let Some(explanation) = &grounds.explanation {
        for (name, words) in explanation.texts() {
            text(&format!("explanation.{name}"), words.unwrap_or_default(), &mut found);
        }
        for (index, link) in explanation.links.iter().enumerate() {
            text(&format!("explanation.links[{index}]"), link, &mut found);
        }
        if let Some(evidence) = &explanation.evidence {
            value("explanation.evidence", evidence, &mut found);
        }
    }
    found.truncate(FINDINGS_MAX);
    found
}

/// Everything in the title of the asking intent that looks like a secret. The title is searched because every mail shows it in
/// its header.
pub fn title_findings(title: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    text("intent.title", title, &mut found);
    found
}

fn members(path: &str, members: &Map<String, Value>, found: &mut Vec<Finding>) {
    for (name, member) in members {
        // The name of a member can be a secret as well. The path of a finding must then not repeat the name.
        let harmless = name.len() <= NAME_BYTES_MAX && shapes(name).is_empty();
        let field = format!("{path}.{}", if harmless { visible_line(name) } else { "…".to_owned() });
        text(&field, name, found);
        if let Value::String(words) = member
            && (MEMBERS.is_match(name) && is_secret(words) || VAGUE_MEMBERS.is_match(name) && is_assigned(":", words))
        {
            found.push(Finding { field, shape: Shape::Password });
            continue;
        }
        value(&field, member, found);
    }
}

fn value(field: &str, value: &Value, found: &mut Vec<Finding>) {
    if found.len() >= FINDINGS_MAX {
        return;
    }
    match value {
        Value::String(words) => text(field, words, found),
        Value::Number(number) => text(field, &number.to_string(), found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                self::value(&format!("{field}[{index}]"), item, found);
            }
        }
        Value::Object(object) => members(field, object, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn text(field: &str, words: &str, found: &mut Vec<Finding>) {
    found.extend(shapes(words).into_iter().map(|shape| Finding { field: field.to_owned(), shape }));
}

/// The shapes in one text, each once.
fn shapes(text: &str) -> Vec<Shape> {
    let matched = SHAPES.matches(text);
    let mut found: Vec<Shape> = Vec::new();
    for (shape, _) in matched.into_iter().filter_map(|index| PATTERNS.get(index)) {
        let is_there = match shape {
            Shape::Password => ASSIGNMENTS.captures_iter(text).any(|parts| is_assigned(&parts[1], &parts[2])),
            Shape::CardNumber => CARDS
                .find_iter(text)
                .flat_map(with_fewer_groups)
                .any(|digits| is_card(&text[digits.clone()]) && stands_alone(text, digits)),
            Shape::AccountNumber => IBANS.find_iter(text).flat_map(with_fewer_groups).any(|number| is_iban(&text[number])),
            // A secret of a known shape is not reported as random as well.
            Shape::Random => found.is_empty() && has_random(text),
            Shape::BearerToken => BEARERS.captures_iter(text).any(|parts| is_token(&parts[1])),
            Shape::PrivateKey | Shape::ServiceKey(_) | Shape::WebToken | Shape::AddressWithPassword => true,
        };
        if is_there && !found.contains(shape) {
            found.push(*shape);
        }
    }
    found
}

/// Whether `password=…` or `password: …` assigns a secret. After a colon people also write sentences, so there the value must be
/// longer and contain a digit.
fn is_assigned(sign: &str, value: &str) -> bool {
    is_secret(value) && (sign == "=" || value.len() >= 6 && value.contains(|c: char| c.is_ascii_digit()))
}

/// Whether the text is a token and not a word, as in "bearer responsibilities".
fn is_token(text: &str) -> bool {
    text.len() >= *RANDOM_CHARS.start() || text.contains(|c: char| c.is_ascii_digit())
}

/// Whether the value is a secret, and not a placeholder, a word about a secret (`expired`), or a sentence.
fn is_secret(value: &str) -> bool {
    let value = value.trim();
    let first = value.chars().next().unwrap_or_default();
    let word = value.to_ascii_lowercase();
    let says_nothing = ["true", "false", "null", "none", "required", "missing", "expired", "rotated", "unchanged"];
    value.len() >= 4
        && !value.contains(char::is_whitespace)
        && !"<${[*%(".contains(first)
        && value.chars().any(|c| c != first)
        && !says_nothing.contains(&word.as_str())
        && !word.contains("redacted")
}

/// The ranges in which the number may stand: the whole match, the match without its last group, and so on. The last groups may
/// not belong to the number: a date may follow the number of a card, and a currency the number of an account.
fn with_fewer_groups(found: regex::Match<'_>) -> impl Iterator<Item = std::ops::Range<usize>> {
    let (start, groups) = (found.start(), found.as_str());
    iter::successors(Some(groups), |groups| groups.rfind([' ', '-']).map(|end| &groups[..end]))
        .map(move |groups| start..start + groups.len())
}

/// Whether digits are a number of their own, and not part of a longer number or name.
fn stands_alone(text: &str, range: std::ops::Range<usize>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| matches!(c, '.' | '-' | '_' | '/'));
    let before = text[..range.start].chars().next_back();
    let mut after = text[range.end..].chars();
    // A full stop behind the number may be the end of a sentence, so the number goes on only if a letter or a digit follows the
    // stop.
    let goes_on = joins(after.next()) && after.next().is_some_and(|c| c.is_ascii_alphanumeric());
    !joins(before) && !goes_on
}

/// Whether the digits have a prefix, a length and a check digit of a card (ISO/IEC 7812).
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let leads = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let known = match digits.len() {
        19 => leads(1) == 4,
        14 => leads(2) == 36 || leads(2) == 38 || (300..=305).contains(&leads(3)),
        15 => leads(2) == 34 || leads(2) == 37,
        16 => {
            leads(1) == 4
                || (51..=55).contains(&leads(2))
                || (2_221..=2_720).contains(&leads(4))
                || leads(4) == 6_011
                || leads(2) == 65
                || (3_528..=3_589).contains(&leads(4))
                || leads(2) == 62
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 0 { *digit } else { digit * 2 / 10 + digit * 2 % 10 })
        .sum();
    known && sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

/// Whether the check digits are right (ISO 13616): the number with its first four characters moved to its end leaves 1 modulo 97.
fn is_iban(text: &str) -> bool {
    let signs: Vec<u32> = text.chars().filter_map(|c| c.to_digit(36)).collect();
    let (Some(head), Some(rest)) = (signs.get(..4), signs.get(4..)) else { return false };
    let rotated = rest.iter().chain(head);
    (15..=34).contains(&signs.len()) && rotated.fold(0, |left, sign| (left * if *sign < 10 { 10 } else { 100 } + sign) % 97) == 1
}

/// Whether a run of characters is too random for words, and is no id, digest, public key or part of an address.
fn has_random(text: &str) -> bool {
    // The lines of certificates and public keys look random, and are meant to be shown.
    if text.contains("-----BEGIN ") {
        return false;
    }
    RANDOMS.find_iter(text).any(|run| {
        let before = text.floor_char_boundary(run.start().saturating_sub(ADDRESS_BYTES));
        let line = text[before..run.start()].rsplit(char::is_whitespace).next().unwrap_or_default();
        let in_an_address = line.contains("://");
        let run = run.as_str().trim_matches(['=', '-', '_', '/']);
        let is_digest = ["sha1", "sha256", "sha384", "sha512", "md5"].iter().any(|name| {
            line.to_ascii_lowercase().ends_with(&format!("{name}:")) || run.to_ascii_lowercase().starts_with(&format!("{name}-"))
        });
        // A public key of SSH begins with the length of the name of its kind. That is a small number, so the key begins with
        // `AAAA` in base64.
        let is_public_key = run.starts_with("AAAA");
        let is_hexadecimal = run.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        RANDOM_CHARS.contains(&run.len())
            && !in_an_address
            && !is_digest
            && !is_public_key
            && !is_hexadecimal
            && is_random(run.as_bytes())
    })
}

#[expect(clippy::cast_precision_loss, reason = "at most 512 characters")]
fn is_random(run: &[u8]) -> bool {
    let mut counts = [0_u32; 128];
    for byte in run {
        counts[usize::from(byte & 0x7f)] += 1;
    }
    let length = run.len() as f64;
    let bits: f64 =
        counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum();
    let kind = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_lowercase(), byte.is_ascii_digit());
    let changes = run.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let has = |is: fn(&u8) -> bool| run.iter().filter(|byte| is(byte)).count() >= 2;
    has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && bits >= RANDOM_BITS
        && changes * 100 >= (run.len() - 1) * RANDOM_CHANGES_PERCENT
}

impl SeemingSecret {
    /// The warnings about the findings: secrets belong neither into channels nor into a log that is kept (RFC-0025 §11).
    ///
    /// # Errors
    ///
    /// The field errors of a server that refuses secrets.
    pub fn judge(self, found: &[Finding]) -> Result<Vec<String>, Vec<FieldError>> {
        match self {
            Self::Refuse if !found.is_empty() => Err(found.iter().map(refusal).collect()),
            Self::Refuse => Ok(Vec::new()),
            Self::Warn => Ok(found.iter().map(warning).collect()),
        }
    }
}

fn warning(Finding { field, shape }: &Finding) -> String {
    format!("{field} looks like {shape}; a question is no place for one")
}

fn refusal(Finding { field, shape }: &Finding) -> FieldError {
    FieldError::new(field, "secret", format!("looks like {shape}, and this server refuses it (questions.secrets)"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    /// The samples are put together here, so that no scanner takes this file for a leak.
    fn samples() -> Vec<(Shape, String)> {
        let random = "Zq7Lx2Vb9Kd4Rt6Yw8Pm3Nc5Hg1Jf0Ts2Bv7";
        vec![
            (Shape::PrivateKey, format!("-----BEGIN {} KEY-----\nMIIEvQ\n", "PRIVATE")),
            (Shape::PrivateKey, format!("-----BEGIN OPENSSH {} KEY-----", "PRIVATE")),
            (Shape::ServiceKey("an AWS access key"), format!("use {}IOSFODNN7EXAMPLE now", "AKIA")),
            (Shape::ServiceKey("a GitHub token"), format!("gh{}_{random}", "p")),
            (Shape::ServiceKey("a GitHub token"), format!("github{}_11ABCDEFG0abcdefghijkl", "_pat")),
            (Shape::ServiceKey("a GitLab token"), format!("gl{}-{}", "pat", &random[..20])),
            (Shape::ServiceKey("a Slack token"), format!("xox{}-123456789012-abc", "b")),
            (Shape::ServiceKey("a Stripe key"), format!("sk_{}_{}", "live", &random[..24])),
            (Shape::ServiceKey("a key of an AI service"), format!("sk-{}-{random}", "ant")),
            (Shape::ServiceKey("a Google API key"), format!("AI{}{}", "za", &random[..35])),
            (Shape::ServiceKey("an npm token"), format!("npm_{random}")),
            (Shape::ServiceKey("a SendGrid key"), format!("SG.{}.{random}", &random[..22])),
            (Shape::ServiceKey("a Placet key"), format!("placet_agent_{}", &random[..32])),
            (Shape::ServiceKey("an answer link"), format!("https://placet.example.com/a/plc_AAAAAAAA{random}")),
            (Shape::WebToken, format!("{}.{}.c2lnbmF0dXJl", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0")),
            (Shape::BearerToken, "Authorization: Bearer abcdefghijklmn0p".to_owned()),
            (Shape::BearerToken, "bearer abcdefghijklmnopqrstuvwxyzabcdef".to_owned()),
            (Shape::AddressWithPassword, "postgres://app:hunter2@db.example.com/orders".to_owned()),
            (Shape::AddressWithPassword, "redis://:hunter2@cache.example.com:6379/0".to_owned()),
            (Shape::Password, "set DB_PASSWORD=hunter2 first".to_owned()),
            (Shape::Password, "Password: hunter2".to_owned()),
            (Shape::Password, r#"{"api_key": "k3y-for-prod"}"#.to_owned()),
            (Shape::CardNumber, "charge 4111 1111 1111 1111, please".to_owned()),
            (Shape::CardNumber, "4111 1111 1111 1111 12/27".to_owned()),
            (Shape::CardNumber, "4111-1111-1111-1111 123".to_owned()),
            (Shape::CardNumber, "4111 1111 1111 1111 123".to_owned()),
            (Shape::CardNumber, "card 5555555555554444.".to_owned()),
            (Shape::CardNumber, "3782-822463-10005".to_owned()),
            (Shape::AccountNumber, "to DE89 3704 0044 0532 0130 00 today".to_owned()),
            (Shape::AccountNumber, "AT61 1904 3002 3457 3201 EUR".to_owned()),
            (Shape::AccountNumber, "BE68 5390 0754 7034 EUR".to_owned()),
            (Shape::AccountNumber, "BE68 5390 0754 7034 PLUS 50 EUR".to_owned()),
            (Shape::AccountNumber, "GB82WEST12345698765432".to_owned()),
            (Shape::Random, format!("the new key is {random}")),
            (Shape::Random, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY4zQ9w".to_owned()),
        ]
    }

    #[test]
    fn what_looks_like_a_secret_is_named_for_what_it_is() {
        for (shape, text) in samples() {
            assert_eq!(shapes(&text), [shape], "{text}");
        }
    }

    /// Ids, digests and ordinary words cause no finding, because operators turn off a scan that gives false alarms.
    #[test]
    fn ids_digests_and_words_are_no_secrets() {
        for text in [
            "Refund order 12345?",
            "intent 0193600b-2f1c-7000-8000-000000000001 of 12345678-1234-1234-1234-123456789012",
            "Deploy 4f2a91c2b7d1e0a95c3f6b8d7e9a0c1b2d3e4f50 to production?",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "sha256:n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg",
            "integrity sha512-MJ7MSJwS1utMxA9QyQLytNDtd+5RGnx6m808qG1M2G+YndNbxf9JlnDaNCVbRbDP2DDoH2Bdz33FVC6TrpzXbw==",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7Zq7Lx2Vb9Kd4Rt6Yw8Pm3Nc5Hg1Jf0Ts2Bv7 me@laptop",
            "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n",
            "https://docs.example.com/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
            "traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "server/src/store/sqlite/migrations/2026-11-21-000006_reminders_on_request",
            "com.example.billing.InvoiceReconciliationServiceFactoryBeanV2Configuration",
            "INVOICE_RECONCILIATION_REPORT_2026_11_24_FINAL_VERSION_2_signed",
            "order 4111111111111112, and 1234567890123456, and 0000000000000000",
            "0.4111111111111111 and 4111111111111111-2 and a/4111111111111111",
            "call +49 30 1234 5678 9012 or write to alice@example.com",
            "2026-11-24 08:00:00.000000 until 20261124080000000",
            "the password: please reset it",
            "password=<redacted> secret=${SECRET} api_key=**** passwd=[hidden]",
            "secret: rotated, password=required",
            "Is the secret known? The access token expired.",
            "DE00 3704 0044 0532 0130 00",
            "US12 ABCD 1234 5678",
            "bearer of bad news, bearer responsibilities, bearer authentication",
            "EAN 4006381333931, 4012345678901, 4111111111119",
            "order 4111-1111-1111-1111-12",
            "see https://host:8443?x=a@b and https://host:8443#a@b",
            "see https://example.com:8443/a@b",
        ] {
            assert_eq!(shapes(text), [], "{text}");
        }
    }

    #[test]
    fn findings_name_their_place_and_nothing_of_what_stands_there() {
        let key = format!("{}IOSFODNN7EXAMPLE", "AKIA");
        let question = format!("May I use {key}?");
        let metadata = json!({"why": {"api_key": "k3y-for-prod"}});
        let choice =
            json!({"value": "a", "label": "A", "style": "default", "description": format!("with {key}"), "metadata": metadata});
        let choices: Vec<SuspensionChoice> = vec![serde_json::from_value(choice).unwrap()];
        let context = json!({
            "order": {"card": 4_111_111_111_111_111_u64, "lines": ["one", format!("two {key}")]},
            "db": {"password": "hunter2", "userPassword": "", "secret": "see the vault", "pass_key": "a"},
            "login": {"token": "abc123", "api_token": "abc123", "apiToken": "abc123", "pwd": "hunter2", "credentials": "hunter2"},
            "none": {"pass": "first", "token": "USDC", "compass": "hunter2", "tokens": "abc123", "bypass": "hunter2"},
            key.as_str(): "a name can be one as well",
        });
        let decision = json!({"rationale": format!("{key} was found"), "confidence": 0.411_111_111_111_111_1});
        let fallback = json!({"then": [key]});
        let found = findings(&question, &choices, context.as_object().unwrap(), decision.as_object(), Some(&fallback), None);
        let mut fields: Vec<&str> = found.iter().map(|finding| finding.field.as_str()).collect();
        fields.sort_unstable();
        let expected = [
            "choices[0].description",
            "choices[0].metadata.why.api_key",
            "context.db.password",
            "context.login.apiToken",
            "context.login.api_token",
            "context.login.credentials",
            "context.login.pwd",
            "context.login.token",
            "context.order.card",
            "context.order.lines[1]",
            "context.…",
            "decision_record.rationale",
            "fallback_value.then[0]",
            "question",
        ];
        assert_eq!(fields, expected);
        assert!(!format!("{found:?}").contains("IOSFODNN7") && !format!("{found:?}").contains("hunter2"));
        assert_eq!(findings("", &[], &Map::new(), None, None, None), []);
        assert_eq!((title_findings(&question).len(), title_findings("Refund order 12345").len()), (1, 0));
    }

    #[test]
    fn a_question_full_of_secrets_is_told_of_a_few() {
        let keys: Vec<Value> = (0..1_000).map(|_| json!(format!("{}IOSFODNN7EXAMPLE", "AKIA"))).collect();
        let context = json!({ "keys": keys });
        assert_eq!(findings("", &[], context.as_object().unwrap(), None, None, None).len(), FINDINGS_MAX);
    }

    /// Searches texts that would make a search with backtracking slow. The time stays short, because this search reads each
    /// character a fixed number of times.
    #[test]
    fn the_largest_text_of_any_kind_is_read_to_its_end() {
        let start = Instant::now();
        for piece in [
            "4",
            "4111 1111 1111 ",
            "4111 1111 1111 1111 111 ",
            "A",
            "DE89 3704 ",
            "bearer a",
            "password=",
            "aZ9",
            "://a:",
            "eyJaaaaaaaa.",
            "-----BEGIN ",
        ] {
            let mut text = piece.repeat(64 * 1024 / piece.len());
            text.push_str(" 4111111111111111");
            assert!(shapes(&text).contains(&Shape::CardNumber), "{piece}");
        }
        // The limit is many times the normal duration, even on a busy machine: a backtracking search takes hours.
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}
