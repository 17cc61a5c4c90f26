//! The key that signs checkpoints (Ed25519), its public half as C2SP's signed notes write it, and the file that guards it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The byte that says Ed25519 in a signed note's key.
const ED25519_KIND: u8 = 1;
/// The first words of a file that holds a key under which the signing key is encrypted.
const WRAPPING_KIND: &str = "placet-log-key-file/1";
/// The first word of a signing key in the form of a signed note's key.
const PRIVATE_KIND: &str = "PRIVATE+KEY";
/// The most characters of a key's name.
pub const NAME_CHARS_MAX: usize = 200;

/// Why a key, or a file with one, cannot be used. No message repeats a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// A name that a signed note cannot carry.
    #[error("a log's name has 1 to {NAME_CHARS_MAX} characters, and neither spaces nor plus signs")]
    Name,
    /// A public key in another form.
    #[error("a log's public key is written NAME+HASH+BASE64")]
    Public,
    /// A key whose hash does not belong to its name and bytes.
    #[error("the hash within the key does not belong to the key; was a part of it lost?")]
    KeyHash,
    /// A key file in another form.
    #[error("a key file holds \"{WRAPPING_KIND}\" and 32 bytes in base64, or a key that begins with {PRIVATE_KIND}")]
    File,
    /// The encrypted key does not open.
    #[error("the key file does not open the log's signing key: it belongs to another database, or one of the two was changed")]
    Sealed,
}

/// Refuses a name that a signed note cannot carry.
///
/// # Errors
///
/// [`KeyError::Name`].
pub fn check_name(name: &str) -> Result<(), KeyError> {
    let is_odd = |character: char| character.is_whitespace() || character.is_control() || character == '+';
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.chars().any(is_odd) {
        return Err(KeyError::Name);
    }
    Ok(())
}

/// A log's public key and name.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    name: String,
    public: [u8; 32],
}

impl VerifyingKey {
    /// The key with these bytes, of the log with this name.
    ///
    /// # Errors
    ///
    /// [`KeyError::Name`].
    pub fn new(name: &str, public: [u8; 32]) -> Result<Self, KeyError> {
        check_name(name)?;
        Ok(Self { name: name.to_owned(), public })
    }

    /// The name of the log, which is also the origin of its checkpoints.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The 32 bytes of the key.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// The four bytes by which a signature names its key.
    pub fn hash(&self) -> [u8; 4] {
        let digest = Sha256::new_with_prefix(&self.name).chain_update([b'\n', ED25519_KIND]).chain_update(self.public).finalize();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The same in hexadecimal digits, as it is written.
    fn hash_text(&self) -> String {
        format!("{:08x}", u32::from_be_bytes(self.hash()))
    }

    /// Whether `signature` is this key's signature of `text`.
    pub fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.public).verify(text, signature).is_ok()
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kind_and_key = vec![ED25519_KIND];
        kind_and_key.extend_from_slice(&self.public);
        write!(f, "{}+{}+{}", self.name, self.hash_text(), STANDARD.encode(kind_and_key))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for VerifyingKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(KeyError::Public);
        };
        check_name(name)?;
        let key = STANDARD.decode(key).map_err(|_| KeyError::Public)?;
        let public = match key.split_first() {
            Some((&ED25519_KIND, public)) => public.try_into().map_err(|_| KeyError::Public)?,
            _ => return Err(KeyError::Public),
        };
        let read = Self { name: name.to_owned(), public };
        if read.hash_text() != hash {
            return Err(KeyError::KeyHash);
        }
        Ok(read)
    }
}

/// The key that signs the checkpoints of one log.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    verifying: VerifyingKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.verifying)
    }
}

impl SigningKey {
    /// The key with these secret 32 bytes, for the log of this name.
    ///
    /// # Errors
    ///
    /// A name that a signed note cannot carry.
    pub fn new(name: &str, seed: &[u8; 32]) -> Result<Self, KeyError> {
        check_name(name)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::File)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| KeyError::File)?;
        Ok(Self { pair, verifying: VerifyingKey { name: name.to_owned(), public } })
    }

    /// The public half.
    pub fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    /// Signs a text.
    pub fn sign(&self, text: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.pair.sign(text).as_ref());
        bytes
    }
}

/// The contents of the file outside the database without which no server can sign.
pub enum KeyFile {
    /// The key under which the database holds the signing key.
    Wrapping([u8; 32]),
    /// The signing key itself, which an operator made.
    Given(Box<SigningKey>),
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrapping(_) => f.write_str("KeyFile::Wrapping"),
            Self::Given(key) => write!(f, "KeyFile::Given({})", key.verifying()),
        }
    }
}

impl KeyFile {
    /// Reads a key file.
    ///
    /// # Errors
    ///
    /// Another form.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if let Some(key) = text.strip_prefix(WRAPPING_KIND) {
            let key = STANDARD.decode(key.trim()).ok().and_then(|key| key.try_into().ok());
            return key.map(Self::Wrapping).ok_or(KeyError::File);
        }
        // PRIVATE+KEY+name+hash+base64: the form in which tools for signed notes write a key.
        let mut parts =
            text.strip_prefix(PRIVATE_KIND).and_then(|rest| rest.strip_prefix('+')).ok_or(KeyError::File)?.splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else { return Err(KeyError::File) };
        let key = STANDARD.decode(key).map_err(|_| KeyError::File)?;
        let Some((&ED25519_KIND, seed)) = key.split_first() else { return Err(KeyError::File) };
        let key = SigningKey::new(name, seed.try_into().map_err(|_| KeyError::File)?)?;
        if key.verifying.hash_text() != hash {
            return Err(KeyError::KeyHash);
        }
        Ok(Self::Given(Box::new(key)))
    }

    /// The text of a new file around these 32 random bytes.
    pub fn write(key: &[u8; 32]) -> String {
        format!("{WRAPPING_KIND}\n{}\n", STANDARD.encode(key))
    }
}

/// Encrypts the secret bytes of the signing key of the log `name` under the key of a key file. `nonce` must be random.
pub fn seal(wrapping: &[u8; 32], name: &str, seed: &[u8; 32], nonce: [u8; NONCE_LEN]) -> Result<Vec<u8>, KeyError> {
    seal_bytes(wrapping, name, seed, nonce)
}

/// Encrypts bytes under the key of a key file. `about` says what they are, and opens them together with the key. `nonce` must be random.
pub fn seal_bytes(wrapping: &[u8; 32], about: &str, bytes: &[u8], nonce: [u8; NONCE_LEN]) -> Result<Vec<u8>, KeyError> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, wrapping).map_err(|_| KeyError::Sealed)?);
    let mut sealed = bytes.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(about), &mut sealed)
        .map_err(|_| KeyError::Sealed)?;
    Ok([&nonce[..], &sealed].concat())
}

/// Decrypts what [`seal`] encrypted.
///
/// # Errors
///
/// Another key file, another log, or bytes that were changed.
pub fn open(wrapping: &[u8; 32], name: &str, sealed: &[u8]) -> Result<[u8; 32], KeyError> {
    open_bytes(wrapping, name, sealed)?.try_into().map_err(|_| KeyError::Sealed)
}

/// Decrypts what [`seal_bytes`] encrypted.
///
/// # Errors
///
/// Another key file, bytes about something else, or bytes that were changed.
pub fn open_bytes(wrapping: &[u8; 32], about: &str, sealed: &[u8]) -> Result<Vec<u8>, KeyError> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, wrapping).map_err(|_| KeyError::Sealed)?);
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(KeyError::Sealed)?;
    let mut opened = sealed.to_vec();
    let bytes =
        key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(about), &mut opened).map_err(|_| KeyError::Sealed)?;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of Go's package for signed notes: a key that another implementation made.
    const GO_PRIVATE: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const GO_PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn a_key_of_another_implementation_is_read_and_written_alike() {
        let KeyFile::Given(key) = KeyFile::read(GO_PRIVATE).unwrap() else { panic!("no signing key") };
        assert_eq!(key.verifying().to_string(), GO_PUBLIC);
        assert_eq!(&GO_PUBLIC.parse::<VerifyingKey>().unwrap(), key.verifying());
        assert!(key.verifying().verifies(b"text", &key.sign(b"text")));
        assert!(!key.verifying().verifies(b"text", &key.sign(b"another")));
    }

    #[test]
    fn a_sealed_key_opens_under_its_own_file_and_name_alone() {
        let (wrapping, seed) = ([7; 32], [9; 32]);
        let sealed = seal(&wrapping, "a", &seed, [1; NONCE_LEN]).unwrap();
        assert_eq!(open(&wrapping, "a", &sealed), Ok(seed));
        assert_eq!(open(&[8; 32], "a", &sealed), Err(KeyError::Sealed));
        assert_eq!(open(&wrapping, "b", &sealed), Err(KeyError::Sealed));
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert_eq!(open(&wrapping, "a", &changed), Err(KeyError::Sealed));
        }
        assert_eq!(open(&wrapping, "a", &sealed[..5]), Err(KeyError::Sealed));
        assert!(matches!(KeyFile::read(&KeyFile::write(&wrapping)), Ok(KeyFile::Wrapping(read)) if read == wrapping));
    }

    #[test]
    fn a_key_of_another_form_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", KeyError::Public),
            ("a+b", KeyError::Public),
            ("a b+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", KeyError::Name),
            ("PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", KeyError::KeyHash),
            ("PeterNeumann+c74f20a3+AhpC", KeyError::Public),
        ] {
            assert_eq!(text.parse::<VerifyingKey>(), Err(reason), "{text}");
        }
        for (text, reason) in [
            ("", KeyError::File),
            ("placet-log-key-file/1\nAAAA", KeyError::File),
            ("PRIVATE+KEY+PeterNeumann+c74f20a3+AYEK", KeyError::File),
            (&GO_PRIVATE.replace("c74f", "c74e"), KeyError::KeyHash),
        ] {
            assert_eq!(KeyFile::read(text).map(|_| ()).unwrap_err(), reason, "{text}");
        }
        let long = "x".repeat(NAME_CHARS_MAX);
        assert!(SigningKey::new(&long, &[1; 32]).is_ok());
        assert_eq!(SigningKey::new(&format!("{long}x"), &[1; 32]).map(|_| ()).unwrap_err(), KeyError::Name);
    }
}
