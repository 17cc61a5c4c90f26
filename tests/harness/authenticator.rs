//! An authenticator without a device: one key (ES256), and a browser that hands over what it signs.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The flags of an authenticator: a person was present, and was verified; a new credential is included.
pub const PRESENT: u8 = 0x01;
pub const VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;
/// The start of a key of ES256 in COSE, up to the first coordinate; then the label of the second one.
const KEY_START: &[u8] = &[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32];
const SECOND_COORDINATE: &[u8] = &[0x22, 0x58, 32];

/// An authenticator with one passkey. Its data about itself can be changed, as an attacker would.
pub struct Authenticator {
    pair: EcdsaKeyPair,
    pub credential_id: Vec<u8>,
    pub rp_id: String,
    pub origin: String,
    pub flags: u8,
    /// How often it has signed; a passkey that does not count says 0.
    pub counter: u32,
}

/// A form's fields.
pub type Fields = Vec<(&'static str, String)>;

impl Authenticator {
    /// A new passkey for this server.
    pub fn new(public_url: &str) -> Self {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pair.as_ref(), &random).unwrap();
        let mut credential_id = vec![0; 16];
        random.fill(&mut credential_id).unwrap();
        let url: url::Url = public_url.parse().unwrap();
        Self {
            pair,
            credential_id,
            rp_id: url.host_str().unwrap().to_owned(),
            origin: url.origin().ascii_serialization(),
            flags: PRESENT | VERIFIED,
            counter: 0,
        }
    }

    /// The id of the passkey, as it is written.
    pub fn id(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.credential_id)
    }

    /// The public key in COSE, as it is written.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.cose())
    }

    fn cose(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        [KEY_START, &point[1..33], SECOND_COORDINATE, &point[33..]].concat()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        [&Sha256::digest(&self.rp_id)[..], &[flags], &self.counter.to_be_bytes()].concat()
    }

    fn client_data(&self, ceremony: &str, challenge: &str) -> Vec<u8> {
        let data = json!({"type": ceremony, "challenge": challenge, "origin": self.origin, "crossOrigin": false});
        data.to_string().into_bytes()
    }

    /// The fields of a form by which the passkey is registered.
    pub fn register(&self, challenge: &str) -> Fields {
        let length = u16::try_from(self.credential_id.len()).unwrap().to_be_bytes();
        let data = [&self.data(self.flags | HAS_CREDENTIAL)[..], &[0; 16], &length, &self.credential_id, &self.cose()].concat();
        vec![
            ("new_authenticator_data", URL_SAFE_NO_PAD.encode(data)),
            ("new_client_data_json", URL_SAFE_NO_PAD.encode(self.client_data("webauthn.create", challenge))),
        ]
    }

    /// The fields of a form that the passkey signs.
    pub fn sign(&self, challenge: &str) -> Fields {
        let (data, client) = (self.data(self.flags), self.client_data("webauthn.get", challenge));
        let signed = [&data[..], &Sha256::digest(&client)].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        vec![
            ("credential_id", self.id()),
            ("authenticator_data", URL_SAFE_NO_PAD.encode(data)),
            ("client_data_json", URL_SAFE_NO_PAD.encode(client)),
            ("signature", URL_SAFE_NO_PAD.encode(signature.as_ref())),
        ]
    }

    /// The passkey as a verifier knows it beforehand.
    pub fn known(&self, person: &str) -> Value {
        json!({"person": person, "credential_id": self.id(), "public_key": self.public_key(), "rp_id": self.rp_id})
    }
}
