//! API keys: their form, and how they are made.

use domain::base::field::FieldError;
use domain::base::ids::{Entropy, KeyId};
use domain::base::name;
use domain::base::name::Owner;
use domain::people::principal::Role;
use domain::suspension::channel::{CHANNEL_NAME_MAX, EMAIL, is_channel_name};
use domain::wire::CreateKeyRequest;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use store::{NewKey, SecretOrigin};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 27 characters, each one of 62, carry 160 bits.
const RANDOM_CHARS: usize = 27;
const CHECK_CHARS: usize = 6;
/// The longest key that is looked up at all.
pub const KEY_CHARS_MAX: usize = 200;
/// The most channels to which one gateway (a key with the role `channel`) can be tied. No server has more webhooks than this.
pub const TIED_TO_MAX: usize = 100;
/// An imported secret with fewer bits needs `--weak`.
pub const IMPORT_BITS_MIN: f64 = 128.0;

/// Makes a key: `placet_<role>_<27 random characters><6 check characters>`, so that scanners find leaks and people find typos.
pub fn generate(role: Role, entropy: &dyn Entropy) -> SecretString {
    let mut key = format!("placet_{role}_");
    let mut drawn = 0;
    while drawn < RANDOM_CHARS {
        let mut byte = [0];
        entropy.fill(&mut byte);
        // 248 is the largest multiple of 62 in a byte: with larger bytes some characters would come more often.
        if byte[0] < 248 {
            key.push(char::from(BASE62[usize::from(byte[0] % 62)]));
            drawn += 1;
        }
    }
    let mut check = crc32fast::hash(key.as_bytes());
    let mut digits = [0; CHECK_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(check % 62) as usize];
        check /= 62;
    }
    key.extend(digits.map(char::from));
    key.into()
}

/// The hash of a key, as it is stored. Keys carry 128 bits or more, except those imported with `--weak`, so a fast hash is safe.
pub fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Roughly how many bits a secret chosen by a person can carry: its length times the bits of one character of its alphabets.
pub fn bits(secret: &str) -> f64 {
    let size = |holds: bool, size: f64| if holds { size } else { 0.0 };
    let alphabet = size(secret.chars().any(|c| c.is_ascii_digit()), 10.0)
        + size(secret.chars().any(|c| c.is_ascii_lowercase()), 26.0)
        + size(secret.chars().any(|c| c.is_ascii_uppercase()), 26.0)
        + size(secret.chars().any(|c| !c.is_ascii_alphanumeric()), 32.0);
    let distinct = secret.chars().collect::<std::collections::BTreeSet<_>>().len();
    // A secret that repeats a few characters carries little, however long it is. So its length counts only up to twice the number
    // of distinct characters.
    let length = u32::try_from(secret.chars().count().min(distinct * 2)).unwrap_or(u32::MAX);
    alphabet.max(1.0).log2() * f64::from(length)
}

/// Checks the names of a key and joins them with the hash of its secret. `channels` are the channels of the server, if they are
/// known.
///
/// # Errors
///
/// The fields of the request that break rules.
pub fn new_key(
    request: CreateKeyRequest,
    secret: &SecretString,
    id: KeyId,
    channels: Option<&[&str]>,
    origin: SecretOrigin,
) -> Result<NewKey, Vec<FieldError>> {
    let mut errors = Vec::new();
    let mut checked = |field, name: &str| {
        name::normal(name).map_err(|(rule, message)| errors.push(FieldError::new(field, rule, message))).unwrap_or_default()
    };
    let name = checked("name", &request.name);
    let subject = request.subject.map_or_else(|| name.clone(), |subject| checked("subject", &subject));
    let owner = request.owner.map_or_else(|| name.clone(), |owner| checked("owner", &owner));
    let tied_to = tie(request.role, request.tied_to, request.unbound, channels).map_err(|error| errors.push(error));
    if request.client.is_some() && request.role != Role::Agent {
        errors.push(FieldError::new("client", "role", "is for the role agent only"));
    }
    let (Ok(tied_to), true) = (tied_to, errors.is_empty()) else { return Err(errors) };
    let hash = hash(secret.expose_secret());
    Ok(NewKey { id, name, role: request.role, subject, owner: Owner(owner), tied_to, client: request.client, hash, origin })
}

/// The channels to which a gateway (a key with the role `channel`) is tied, each once. `channels` are the channels of the server,
/// if they are known.
fn tie(
    role: Role,
    tied_to: Option<Vec<String>>,
    unbound: bool,
    channels: Option<&[&str]>,
) -> Result<Option<Vec<String>>, FieldError> {
    let error = |rule, message: String| Err(FieldError::new("for", rule, message));
    match (role, tied_to, unbound) {
        (Role::Channel, Some(mut names), false) => {
            if names.is_empty() || names.len() > TIED_TO_MAX {
                return error("length", format!("must name 1 to {TIED_TO_MAX} channels"));
            }
            if names.iter().any(|name| !is_channel_name(name)) {
                return error("format", format!("each name is 1 to {CHANNEL_NAME_MAX} of a-z, 0-9 and -"));
            }
            let is_unknown = |name: &&String, known: &[&str]| *name != EMAIL && !known.contains(&name.as_str());
            let unknown = channels.and_then(|known| Some((known, names.iter().find(|name| is_unknown(name, known))?)));
            if let Some((known, unknown)) = unknown {
                return error("value", format!("{unknown:?} is no channel of this server; there are: {}", known.join(", ")));
            }
            names.sort_unstable();
            names.dedup();
            Ok(Some(names))
        }
        (Role::Channel, None, false) => error(
            "required",
            "a gateway needs the webhooks it is for, or has to be unbound (--for NAME or --unbound): give one of the two".into(),
        ),
        (Role::Channel, Some(_), true) => {
            error("conflict", "a gateway is either tied to webhooks (for) or unbound, not both".into())
        }
        (Role::Channel, None, true) | (_, None, false) => Ok(None),
        (role, _, _) => {
            let message =
                format!("only a key with the role channel can be tied to webhooks or unbound; this key has the role {role}");
            error("role", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use store::host::clock::SystemEntropy;

    use super::*;

    #[test]
    fn a_key_has_its_role_its_length_and_a_check_that_finds_typos() {
        for role in Role::ALL {
            let key = generate(role, &SystemEntropy);
            let key = key.expose_secret();
            let rest = key.strip_prefix(&format!("placet_{role}_")).unwrap();
            assert_eq!(rest.len(), RANDOM_CHARS + CHECK_CHARS);
            assert!(rest.bytes().all(|byte| BASE62.contains(&byte)));
        }
        assert_ne!(generate(Role::Agent, &SystemEntropy).expose_secret(), generate(Role::Agent, &SystemEntropy).expose_secret());
    }

    #[test]
    fn chosen_secrets_are_weighed() {
        assert!(bits("dev-key") < IMPORT_BITS_MIN);
        assert!(bits(&"a".repeat(100)) < IMPORT_BITS_MIN);
        assert!(bits("changeme-changeme-changeme") < IMPORT_BITS_MIN);
        assert!(bits("b7Kq2x9LmP4vT8wZ3nR6cY1h") >= IMPORT_BITS_MIN);
    }
}
