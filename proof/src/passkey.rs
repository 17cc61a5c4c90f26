//! Verifies what passkeys sign (WebAuthn Level 2): a registration (§7.1), and the assertion under an answer (§7.2).
//!
//! Guarantee: an assertion is accepted only if the passkey signed this challenge, on a page of this site, after it had verified its
//! user. Mechanism: the checks of the specification, and the signature by `ring`. Failure: each check has a refusal of its own.
//! Attestations are not asked for, so a registration proves no more than that the browser handed over this key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::passkey::{Assertion, CREDENTIAL_ID_BYTES_MAX, KnownPasskey, Octets, PUBLIC_KEY_BYTES_MAX, Site};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::cbor::{Reader, Writer};

/// The flags of the authenticator: a person was present, the authenticator verified the person, a new credential is included,
/// extensions are included (WebAuthn §6.1).
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;
/// The bytes of a hash, of a coordinate, and of an Ed25519 key.
const HASH_BYTES: usize = 32;
/// The bytes that name the model of the authenticator.
const MODEL_BYTES: usize = 16;
/// The first byte of a point of which both coordinates are given.
const UNCOMPRESSED: u8 = 4;

/// The algorithms that browsers are offered, by their numbers in COSE (RFC 9053, RFC 8812), the preferred one first.
pub const ALGORITHMS: [i64; 3] = [ES256, EDDSA, RS256];
const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;

/// Why a registration or an assertion is not accepted. The messages complete the sentence "the passkey is not accepted: ".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PasskeyError {
    /// The bytes of the authenticator have another form.
    #[error("the authenticator's data has another form")]
    AuthenticatorData,
    /// The public key has another form, or an algorithm that was not offered.
    #[error("its public key is neither ES256, EdDSA nor RS256 in the form of COSE")]
    PublicKey,
    /// The browser's data is not JSON, or lacks a member.
    #[error("the browser's data has another form")]
    ClientData,
    /// A registration came in place of an assertion, or the other way round.
    #[error("it was asked for something else")]
    Ceremony,
    /// The challenge is another one.
    #[error("it signed something else: the challenge is another one")]
    Challenge,
    /// The page was another site's, or stood in a frame of another site.
    #[error("it was used on another site")]
    Origin,
    /// The passkey belongs to another domain.
    #[error("it belongs to another domain")]
    RpId,
    /// No person was present.
    #[error("no person was present")]
    NotPresent,
    /// The authenticator did not verify its user.
    #[error("the device did not verify its user by a PIN, a fingerprint or a face")]
    NotVerified,
    /// It is known as another person's.
    #[error("it is another person's")]
    OtherPerson,
    /// The signature is not that of the public key.
    #[error("its signature is wrong")]
    Signature,
}

/// Where an assertion must have been made.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// On a page of this site.
    Site(&'a Site),
    /// On a page of the host with this name, at any port.
    Host(&'a str),
}

impl Place<'_> {
    fn rp_id(&self) -> &str {
        match self {
            Self::Site(site) => &site.rp_id,
            Self::Host(host) => host,
        }
    }

    fn is_origin(&self, origin: &str) -> bool {
        match self {
            Self::Site(site) => site.origin == origin,
            Self::Host(host) => {
                let is_local = *host == "localhost" || host.ends_with(".localhost");
                let plain = origin.strip_prefix("http://").filter(|_| is_local);
                let rest = origin.strip_prefix("https://").or(plain).and_then(|rest| rest.strip_prefix(host));
                rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()))
            }
        }
    }
}

/// A passkey as it was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The passkey.
    pub credential_id: Octets,
    /// Its public key in COSE.
    pub public_key: Octets,
    /// The algorithm of the key, one of [`ALGORITHMS`].
    pub algorithm: i64,
    /// How often it has signed.
    pub counter: u32,
}

/// Verifies a registration: the data of the authenticator, and that of the browser.
///
/// # Errors
///
/// The first check that fails.
pub fn register(
    authenticator_data: &Octets,
    client_data_json: &Octets,
    challenge: &[u8; 32],
    site: &Site,
) -> Result<Registered, PasskeyError> {
    let place = Place::Site(site);
    ClientData::read(client_data_json)?.check("webauthn.create", challenge, place)?;
    let data = AuthenticatorData::read(&authenticator_data.0)?;
    data.check(place)?;
    let (credential_id, public_key) = data.credential()?;
    let algorithm = PublicKey::read(&public_key.0)?.algorithm();
    Ok(Registered { credential_id, public_key, algorithm, counter: data.counter })
}

/// Verifies an assertion by the passkey with this public key, and gives the counter of the authenticator. The caller knows which
/// passkey may sign, and compares the counter with the one before ([`advances`]).
///
/// # Errors
///
/// The first check that fails.
pub fn verify(assertion: &Assertion, challenge: &[u8; 32], public_key: &Octets, place: Place<'_>) -> Result<u32, PasskeyError> {
    ClientData::read(&assertion.client_data_json)?.check("webauthn.get", challenge, place)?;
    let data = AuthenticatorData::read(&assertion.authenticator_data.0)?;
    data.check(place)?;
    if data.flags & (HAS_CREDENTIAL | HAS_EXTENSIONS) == 0 && !data.rest.is_empty() {
        return Err(PasskeyError::AuthenticatorData);
    }
    let mut signed = assertion.authenticator_data.0.clone();
    signed.extend_from_slice(&Sha256::digest(&assertion.client_data_json.0));
    if PublicKey::read(&public_key.0)?.verifies(&signed, &assertion.signature.0) {
        Ok(data.counter)
    } else {
        Err(PasskeyError::Signature)
    }
}

/// Verifies the assertion under an answer of `person` with the passkeys that a verifier knows. `false` if the passkey is not among them.
///
/// # Errors
///
/// The passkey is known, and a check fails.
pub fn verify_known(
    assertion: &Assertion,
    challenge: &[u8; 32],
    person: &str,
    known: &[KnownPasskey],
) -> Result<bool, PasskeyError> {
    let mut named = known.iter().filter(|known| known.credential_id == assertion.credential_id).peekable();
    if named.peek().is_none() {
        return Ok(false);
    }
    let known = named.find(|known| known.person.eq_ignore_ascii_case(person)).ok_or(PasskeyError::OtherPerson)?;
    verify(assertion, challenge, &known.public_key, Place::Host(&known.rp_id)).map(|_| true)
}

/// Whether the counter of an authenticator may follow the counter before. Many passkeys do not count, and always say 0. A counter
/// that does not advance is the sign of a copied passkey.
pub fn advances(before: u32, counter: u32) -> bool {
    counter > before || (before == 0 && counter == 0)
}

/// The browser's part of what is signed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<String>,
}

impl ClientData {
    fn read(json: &Octets) -> Result<Self, PasskeyError> {
        serde_json::from_slice(&json.0).map_err(|_| PasskeyError::ClientData)
    }

    fn check(&self, ceremony: &str, challenge: &[u8; 32], place: Place<'_>) -> Result<(), PasskeyError> {
        if self.r#type != ceremony {
            return Err(PasskeyError::Ceremony);
        }
        if self.challenge != URL_SAFE_NO_PAD.encode(challenge) {
            return Err(PasskeyError::Challenge);
        }
        if !place.is_origin(&self.origin) || self.cross_origin || self.top_origin.is_some() {
            return Err(PasskeyError::Origin);
        }
        Ok(())
    }
}

/// The authenticator's part of what is signed (WebAuthn §6.1).
struct AuthenticatorData<'a> {
    rp_id_hash: [u8; HASH_BYTES],
    flags: u8,
    counter: u32,
    rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, PasskeyError> {
        let read = || {
            let (rp_id_hash, rest) = bytes.split_first_chunk()?;
            let (&flags, rest) = rest.split_first()?;
            let (counter, rest) = rest.split_first_chunk()?;
            Some(Self { rp_id_hash: *rp_id_hash, flags, counter: u32::from_be_bytes(*counter), rest })
        };
        read().ok_or(PasskeyError::AuthenticatorData)
    }

    fn check(&self, place: Place<'_>) -> Result<(), PasskeyError> {
        if self.rp_id_hash != <[u8; HASH_BYTES]>::from(Sha256::digest(place.rp_id())) {
            return Err(PasskeyError::RpId);
        }
        if self.flags & PRESENT == 0 {
            return Err(PasskeyError::NotPresent);
        }
        if self.flags & VERIFIED == 0 {
            return Err(PasskeyError::NotVerified);
        }
        Ok(())
    }

    /// The new credential and its public key (WebAuthn §6.5.1).
    fn credential(&self) -> Result<(Octets, Octets), PasskeyError> {
        let read = || {
            let (_model, rest) = self.rest.split_first_chunk::<MODEL_BYTES>()?;
            let (length, rest) = rest.split_first_chunk()?;
            let (id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            (1..=CREDENTIAL_ID_BYTES_MAX).contains(&id.len()).then_some((id, rest))
        };
        let found = if self.flags & HAS_CREDENTIAL == 0 { None } else { read() };
        let (id, rest) = found.ok_or(PasskeyError::AuthenticatorData)?;
        let behind = PublicKey::parse(rest).ok_or(PasskeyError::PublicKey)?.1;
        if self.flags & HAS_EXTENSIONS == 0 && !behind.is_empty() {
            return Err(PasskeyError::AuthenticatorData);
        }
        let key = &rest[..rest.len() - behind.len()];
        Ok((Octets(id.to_owned()), Octets(key.to_owned())))
    }
}

/// A public key in COSE. Authenticators write it in the deterministic encoding (CTAP2 §8), so there is one form of each.
enum PublicKey<'a> {
    Es256 { x: &'a [u8], y: &'a [u8] },
    EdDsa { x: &'a [u8] },
    Rs256 { modulus: &'a [u8], exponent: &'a [u8] },
}

impl<'a> PublicKey<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, PasskeyError> {
        let key = Self::parse(bytes).filter(|(_, rest)| rest.is_empty() && bytes.len() <= PUBLIC_KEY_BYTES_MAX);
        key.map(|(key, _)| key).ok_or(PasskeyError::PublicKey)
    }

    /// Reads a key, and gives the bytes behind it.
    fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        // The labels are those of RFC 9053 §7 and RFC 8230 §4: 1 is the kind of key, 3 the algorithm, -1 the curve or the modulus.
        let start =
            |members, kind, algorithm| Writer::default().map(members).integer(1).integer(kind).integer(3).integer(algorithm);
        let mut reader = Reader::new(bytes);
        if reader.exactly(&start(5, 2, ES256).integer(-1).integer(1).integer(-2)).is_some() {
            let x = reader.bytes().filter(|x| x.len() == HASH_BYTES)?;
            reader.exactly(&Writer::default().integer(-3))?;
            let y = reader.bytes().filter(|y| y.len() == HASH_BYTES)?;
            return Some((Self::Es256 { x, y }, reader.rest()));
        }
        if reader.exactly(&start(4, 1, EDDSA).integer(-1).integer(6).integer(-2)).is_some() {
            let x = reader.bytes().filter(|x| x.len() == HASH_BYTES)?;
            return Some((Self::EdDsa { x }, reader.rest()));
        }
        reader.exactly(&start(4, 3, RS256).integer(-1))?;
        let modulus = reader.bytes()?;
        reader.exactly(&Writer::default().integer(-2))?;
        let exponent = reader.bytes()?;
        Some((Self::Rs256 { modulus, exponent }, reader.rest()))
    }

    fn algorithm(&self) -> i64 {
        match self {
            Self::Es256 { .. } => ES256,
            Self::EdDsa { .. } => EDDSA,
            Self::Rs256 { .. } => RS256,
        }
    }

    fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(signed, signature).is_ok()
        };
        match self {
            Self::Es256 { x, y } => by(&ECDSA_P256_SHA256_ASN1, &[&[UNCOMPRESSED], *x, *y].concat()),
            Self::EdDsa { x } => by(&ED25519, x),
            Self::Rs256 { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
            }
        }
    }
}
