//! Registrations and assertions of authenticators with real key pairs, and everything that must not be accepted.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::base::passkey::{Assertion, Octets, Site};
use proof::passkey::{PasskeyError, Place, Registered, advances, register, verify};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const PRESENT: u8 = 1;
const VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 0x40;
const BOTH: u8 = PRESENT | VERIFIED;
const CHALLENGE: [u8; 32] = [7; 32];
const CREDENTIAL: &[u8] = b"a credential of the tests";

/// An authenticator with one key.
enum Keys {
    Es256(Box<EcdsaKeyPair>),
    EdDsa(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

impl Keys {
    fn all() -> [Self; 3] {
        let random = SystemRandom::new();
        let es256 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let es256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, es256.as_ref(), &random).unwrap();
        let rs256 = STANDARD.decode(include_str!("rsa-key.base64").split_whitespace().collect::<String>()).unwrap();
        [
            Self::Es256(Box::new(es256)),
            Self::EdDsa(Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap()),
            Self::Rs256(Box::new(RsaKeyPair::from_der(&rs256).unwrap())),
        ]
    }

    /// The public key in COSE, as an authenticator writes it.
    fn cose(&self) -> Vec<u8> {
        match self {
            Self::Es256(pair) => {
                let point = pair.public_key().as_ref();
                [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32][..], &point[1..33], &[0x22, 0x58, 32], &point[33..]].concat()
            }
            Self::EdDsa(pair) => [&[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32][..], pair.public_key().as_ref()].concat(),
            Self::Rs256(pair) => {
                let RsaPublicKeyComponents { n, e } = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                let length = u16::try_from(n.len()).unwrap().to_be_bytes();
                let start = [0xa4, 1, 3, 3, 0x39, 1, 0, 0x20, 0x59];
                [&start[..], &length, &n, &[0x21, 0x40 | u8::try_from(e.len()).unwrap()], &e].concat()
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }

    fn assert(&self, data: &[u8], client: &Value) -> Assertion {
        let client = client.to_string().into_bytes();
        let signed = [data, &Sha256::digest(&client)].concat();
        Assertion {
            credential_id: Octets(CREDENTIAL.to_vec()),
            authenticator_data: Octets(data.to_vec()),
            signature: Octets(self.sign(&signed)),
            client_data_json: Octets(client),
        }
    }
}

fn site() -> Site {
    Site { rp_id: "placet.example".into(), origin: "https://placet.example:8443".into() }
}

fn data(rp_id: &str, flags: u8, counter: u32) -> Vec<u8> {
    [&Sha256::digest(rp_id)[..], &[flags], &counter.to_be_bytes()].concat()
}

fn client(kind: &str) -> Value {
    json!({"type": kind, "challenge": URL_SAFE_NO_PAD.encode(CHALLENGE), "origin": site().origin, "crossOrigin": false, "other": 1})
}

fn new_credential(key: &[u8]) -> Vec<u8> {
    let length = u16::try_from(CREDENTIAL.len()).unwrap().to_be_bytes();
    [&data("placet.example", BOTH | HAS_CREDENTIAL, 0), &[0; 16][..], &length, CREDENTIAL, key].concat()
}

fn registered(data: &[u8], client: &Value) -> Result<Registered, PasskeyError> {
    register(&Octets(data.to_vec()), &Octets(client.to_string().into_bytes()), &CHALLENGE, &site())
}

#[test]
fn each_algorithm_registers_and_signs() {
    for (keys, algorithm) in Keys::all().iter().zip([-7, -8, -257]) {
        let passkey = registered(&new_credential(&keys.cose()), &client("webauthn.create")).unwrap();
        let expected =
            Registered { credential_id: Octets(CREDENTIAL.to_vec()), public_key: Octets(keys.cose()), algorithm, counter: 0 };
        assert_eq!(passkey, expected);
        let assertion = keys.assert(&data("placet.example", BOTH, 5), &client("webauthn.get"));
        for place in [Place::Site(&site()), Place::Host("placet.example")] {
            assert_eq!(verify(&assertion, &CHALLENGE, &passkey.public_key, place), Ok(5), "{algorithm} {place:?}");
        }
    }
}

/// Each of these is signed by the right key, so only the check of its own refuses it.
#[test]
fn an_assertion_that_was_made_elsewhere_or_otherwise_is_refused() {
    let [keys, ..] = Keys::all();
    let key = Octets(keys.cose());
    let good = data("placet.example", BOTH, 5);
    let with = |name: &str, value: Value| {
        let mut client = client("webauthn.get");
        client[name] = value;
        client
    };
    let check = |data: &[u8], client: &Value| verify(&keys.assert(data, client), &CHALLENGE, &key, Place::Site(&site()));
    assert_eq!(check(&good, &client("webauthn.get")), Ok(5));
    for (data, client, error) in [
        (good.clone(), client("webauthn.create"), PasskeyError::Ceremony),
        (good.clone(), with("challenge", URL_SAFE_NO_PAD.encode([8; 32]).into()), PasskeyError::Challenge),
        (good.clone(), with("challenge", STANDARD.encode(CHALLENGE).into()), PasskeyError::Challenge),
        (good.clone(), with("origin", "https://placet.example".into()), PasskeyError::Origin),
        (good.clone(), with("origin", "https://evil.example:8443".into()), PasskeyError::Origin),
        (good.clone(), with("crossOrigin", true.into()), PasskeyError::Origin),
        (good.clone(), with("topOrigin", "https://evil.example".into()), PasskeyError::Origin),
        (good.clone(), with("origin", 5.into()), PasskeyError::ClientData),
        (data("evil.example", BOTH, 5), client("webauthn.get"), PasskeyError::RpId),
        (data("placet.example", VERIFIED, 5), client("webauthn.get"), PasskeyError::NotPresent),
        (data("placet.example", PRESENT, 5), client("webauthn.get"), PasskeyError::NotVerified),
        (good[..36].to_vec(), client("webauthn.get"), PasskeyError::AuthenticatorData),
        ([&good[..], &[0]].concat(), client("webauthn.get"), PasskeyError::AuthenticatorData),
    ] {
        assert_eq!(check(&data, &client), Err(error), "{client}");
    }
}

#[test]
fn a_signature_stands_for_its_bytes_and_its_key_alone() {
    let all = Keys::all();
    for (index, keys) in all.iter().enumerate() {
        let assertion = keys.assert(&data("placet.example", BOTH, 5), &client("webauthn.get"));
        let check = |assertion: &Assertion, key: &Keys| verify(assertion, &CHALLENGE, &Octets(key.cose()), Place::Site(&site()));
        assert_eq!(check(&assertion, keys), Ok(5));
        let mut counted = assertion.clone();
        counted.authenticator_data.0[36] = 6;
        let mut spaced = assertion.clone();
        spaced.client_data_json.0.push(b' ');
        let mut bent = assertion.clone();
        let last = bent.signature.0.len() - 1;
        bent.signature.0[last] ^= 1;
        let cut = Assertion { signature: Octets(assertion.signature.0[..last].to_vec()), ..assertion.clone() };
        for forged in [counted, spaced, bent, cut] {
            assert_eq!(check(&forged, keys), Err(PasskeyError::Signature), "{index}");
        }
        assert_eq!(check(&assertion, &all[(index + 1) % all.len()]), Err(PasskeyError::Signature), "{index}");
    }
}

#[test]
fn a_registration_in_another_form_is_refused() {
    let [keys, ..] = Keys::all();
    let good = new_credential(&keys.cose());
    let create = client("webauthn.create");
    assert_eq!(registered(&good, &client("webauthn.get")), Err(PasskeyError::Ceremony));
    let mut without = good.clone();
    without[32] = BOTH;
    assert_eq!(registered(&without, &create), Err(PasskeyError::AuthenticatorData));
    let mut unverified = good.clone();
    unverified[32] = PRESENT | HAS_CREDENTIAL;
    assert_eq!(registered(&unverified, &create), Err(PasskeyError::NotVerified));
    assert_eq!(registered(&[&good[..], &[0]].concat(), &create), Err(PasskeyError::AuthenticatorData));
    for end in 0..good.len() {
        assert!(registered(&good[..end], &create).is_err(), "{end}");
    }
    // ES384 was not offered; neither was a key whose encoding is not the deterministic one.
    let mut es384 = keys.cose();
    es384[4] = 0x38;
    es384.insert(5, 34);
    let mut wide = keys.cose();
    wide.splice(1..2, [0x18, 1]);
    for key in [es384, wide, vec![], vec![0xa0]] {
        assert_eq!(registered(&new_credential(&key), &create), Err(PasskeyError::PublicKey));
    }
}

#[test]
fn a_host_stands_for_its_pages_at_every_port() {
    let [keys, ..] = Keys::all();
    let check = |host: &str, origin: &str| {
        let mut client = client("webauthn.get");
        client["origin"] = origin.into();
        let assertion = keys.assert(&data(host, BOTH, 5), &client);
        verify(&assertion, &CHALLENGE, &Octets(keys.cose()), Place::Host(host))
    };
    for (host, origin) in [
        ("placet.example", "https://placet.example"),
        ("placet.example", "https://placet.example:8443"),
        ("localhost", "http://localhost:8787"),
        ("localhost", "https://localhost"),
    ] {
        assert_eq!(check(host, origin), Ok(5), "{origin}");
    }
    for origin in [
        "http://placet.example",
        "https://placet.example.evil.example",
        "https://placet.example:",
        "https://placet.example:8443/",
        "https://placet.example@evil.example",
        "https://sub.placet.example",
        "placet.example",
        "",
    ] {
        assert_eq!(check("placet.example", origin), Err(PasskeyError::Origin), "{origin}");
    }
}

#[test]
fn a_counter_advances_or_stays_at_zero() {
    for (before, counter, expected) in
        [(0, 0, true), (0, 1, true), (1, 2, true), (1, 1, false), (2, 1, false), (1, 0, false), (u32::MAX, u32::MAX, false)]
    {
        assert_eq!(advances(before, counter), expected, "{before} {counter}");
    }
}
