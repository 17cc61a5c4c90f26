//! An issuer of identities (OpenID Connect), written for the tests: it logs one account in without asking, and lies when a test tells it to.

#![expect(clippy::missing_panics_doc, reason = "a harness reports by panicking: the test that called it fails")]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use domain::base::address::AllowList;
use domain::base::clock::Clock;
use hmac::{Hmac, KeyInit, Mac};
use placet_server::config::{GroupsConfig, OpenIdConfig};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use crate::clock::FakeClock;
use crate::receiver::{Posted, read};

/// The name that the issuer has given to the server.
pub const CLIENT: &str = "placet";
/// The secret that belongs to this name, with characters that must be encoded on their way.
pub const CLIENT_SECRET: &str = "s3cr3t:&+ of the client";
/// The account that the issuer logs in, unless a test changes it.
pub const SUBJECT: &str = "248289761001";

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    Es256,
    Rs256,
    Ps256,
    EdDsa,
    /// Not at all.
    None,
    /// With a shared secret, for which a careless verifier could take the public key of the issuer.
    Hs256WithPublicKey,
    /// With the secret of the client.
    Hs256WithSecret,
    /// With a key that is not the issuer's, under the name of the issuer's.
    Es256OfAnother,
    /// The signature is of another token.
    Es256OfOtherText,
}

/// The behaviour of the issuer.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Claims that are added or changed; null takes one away.
    pub claims: Map<String, Value>,
    pub signing: Signing,
    /// The name of the key in the token; none if absent.
    pub key_id: Option<&'static str>,
    /// The name under which the key of ES256 is published.
    pub published_as: &'static str,
    /// Metadata that is added or changed; null takes it away.
    pub metadata: Map<String, Value>,
    /// The issuer that the browser brings along (RFC 9207).
    pub names: Option<String>,
    /// The error that the browser brings instead of a code.
    pub error: Option<String>,
    /// The status of each response, if there is no other one.
    pub status: Option<u16>,
    /// The number of bytes that are added to each document.
    pub padding: usize,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            claims: Map::new(),
            signing: Signing::Es256,
            key_id: Some("es"),
            published_as: "es",
            metadata: Map::new(),
            names: None,
            error: None,
            status: None,
            padding: 0,
        }
    }
}

impl Behaviour {
    /// Changes one claim.
    pub fn claim(&mut self, name: &str, value: Value) {
        self.claims.insert(name.to_owned(), value);
    }
}

/// A code that a browser brings to the server.
struct Code {
    nonce: String,
    challenge: String,
    redirect: String,
    /// When the person proved who they are; absent if the server does not ask for it.
    auth_time: Option<i64>,
}

struct Shared {
    base: String,
    clock: Arc<FakeClock>,
    behaviour: Mutex<Behaviour>,
    codes: Mutex<BTreeMap<String, Code>>,
    asked: Mutex<BTreeMap<String, usize>>,
    es: EcdsaKeyPair,
    other_es: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

/// A running issuer.
pub struct Issuer {
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

fn es_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pair.as_ref(), &random).unwrap()
}

/// The key of RSA of this process. Ring makes none, so another program does.
fn rsa_key() -> &'static RsaKeyPair {
    static KEY: OnceLock<RsaKeyPair> = OnceLock::new();
    KEY.get_or_init(|| {
        let arguments = ["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-outform", "DER"];
        let made = Command::new("openssl").args(arguments).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        RsaKeyPair::from_der(&made.stdout).unwrap()
    })
}

impl Issuer {
    /// Starts an issuer whose tokens are of the time of this clock.
    pub async fn start(clock: Arc<FakeClock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let shared = Arc::new(Shared {
            base: format!("http://{}", listener.local_addr().unwrap()),
            clock,
            behaviour: Mutex::default(),
            codes: Mutex::default(),
            asked: Mutex::default(),
            es: es_key(),
            other_es: es_key(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
        });
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, shared.clone()));
        Self { shared, _serving: serving }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.base.trim_start_matches("http://").parse().unwrap()
    }

    /// Its address, which it writes into its tokens.
    pub fn url(&self) -> &str {
        &self.shared.base
    }

    /// The settings of a server that lets people log in by it.
    pub fn config(&self) -> OpenIdConfig {
        OpenIdConfig {
            issuer: self.shared.base.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: CLIENT_SECRET.into(),
            domains: AllowList::parse(["*@example.com"]).unwrap(),
            scopes: vec!["email".to_owned()],
            recent_login: TimeDelta::minutes(5),
            groups: None,
        }
    }

    /// The same, with groups that follow the claim `teams`.
    pub fn config_with_groups(&self, groups: &[(&str, &str)]) -> OpenIdConfig {
        let by_value = groups.iter().map(|(value, group)| ((*value).to_owned(), (*group).to_owned())).collect();
        OpenIdConfig { groups: Some(GroupsConfig { claim: "teams".to_owned(), by_value }), ..self.config() }
    }

    /// Changes its behaviour from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock().unwrap());
    }

    /// Behaves well again, apart from this change.
    pub fn behave_but(&self, change: impl FnOnce(&mut Behaviour)) {
        let mut behaviour = Behaviour::default();
        change(&mut behaviour);
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// How often a path was asked for.
    pub fn asked(&self, path: &str) -> usize {
        self.shared.asked.lock().unwrap().get(path).copied().unwrap_or_default()
    }

    /// The address to which the browser is sent back that comes to this address of the issuer.
    pub fn answer(&self, there: &str) -> String {
        assert!(there.starts_with(&format!("{}/authorize?", self.shared.base)), "{there}");
        self.shared.authorize(there)
    }
}

/// The parameters of a query or a form.
fn parameters(text: &[u8]) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text).into_owned().collect()
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn changed(mut document: Value, changes: &Map<String, Value>) -> Value {
    let members = document.as_object_mut().unwrap();
    for (name, value) in changes {
        let before = if value.is_null() { members.remove(name) } else { members.insert(name.clone(), value.clone()) };
        drop(before);
    }
    document
}

impl Shared {
    fn metadata(&self, changes: &Map<String, Value>) -> Value {
        let base = &self.base;
        let document = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "jwks_uri": format!("{base}/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA"],
        });
        changed(document, changes)
    }

    fn keys(&self, published_as: &str) -> Value {
        let (es, ed) = (self.es.public_key().as_ref(), self.ed.public_key().as_ref());
        let RsaPublicKeyComponents::<Vec<u8>> { n, e } = rsa_key().public().into();
        json!({"keys": [
            {"kty": "EC", "crv": "P-256", "kid": published_as, "use": "sig", "x": encoded(&es[1..33]), "y": encoded(&es[33..])},
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig", "x": encoded(ed)},
            {"kty": "RSA", "kid": "rs", "use": "sig", "n": encoded(n), "e": encoded(e)},
            {"kty": "made up", "kid": "x"},
        ]})
    }

    fn authorize(&self, there: &str) -> String {
        let there = Url::parse(there).unwrap();
        let asked = parameters(there.query().unwrap().as_bytes());
        for (name, value) in [("client_id", CLIENT), ("response_type", "code"), ("code_challenge_method", "S256")] {
            assert_eq!(asked[name], value, "{name}");
        }
        assert_eq!(asked["scope"], "openid email");
        let behaviour = self.behaviour.lock().unwrap().clone();
        let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
        back.query_pairs_mut().append_pair("state", &asked["state"]);
        if let Some(names) = &behaviour.names {
            back.query_pairs_mut().append_pair("iss", names);
        }
        if let Some(error) = &behaviour.error {
            back.query_pairs_mut().append_pair("error", error).append_pair("error_description", "call 555-0100");
            return back.into();
        }
        let code = encoded(Sha256::digest(&asked["state"]));
        back.query_pairs_mut().append_pair("code", &code);
        let [nonce, challenge, redirect] = ["nonce", "code_challenge", "redirect_uri"].map(|name| asked[name].clone());
        let asks_again = asked.get("prompt").is_some_and(|prompt| prompt == "login");
        assert_eq!(asked.get("max_age").map(String::as_str), asks_again.then_some("300"));
        let auth_time = asks_again.then(|| self.clock.now().timestamp());
        self.codes.lock().unwrap().insert(code, Code { nonce, challenge, redirect, auth_time });
        back.into()
    }

    fn token(&self, posted: &Posted, behaviour: &Behaviour) -> (u16, Value) {
        let refused = |error: &str| (400, json!({"error": error}));
        let form = parameters(&posted.body);
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(CLIENT), encode(CLIENT_SECRET))));
        let in_header = posted.headers.get("authorization") == Some(&basic);
        let in_body = form.get("client_secret").map(String::as_str) == Some(CLIENT_SECRET);
        if in_header == in_body {
            return refused("invalid_client");
        }
        let Some(code) = self.codes.lock().unwrap().remove(&form["code"]) else { return refused("invalid_grant") };
        let verified = encoded(Sha256::digest(&form["code_verifier"])) == code.challenge;
        if form["grant_type"] != "authorization_code" || form["redirect_uri"] != code.redirect || !verified {
            return refused("invalid_grant");
        }
        let now = self.clock.now().timestamp();
        let mut claims = json!({
            "iss": self.base, "sub": SUBJECT, "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": code.nonce,
            "email": "Ada@example.com", "email_verified": true,
        });
        if let Some(auth_time) = code.auth_time {
            claims["auth_time"] = auth_time.into();
        }
        let token = self.sign(&changed(claims, &behaviour.claims), behaviour);
        (200, json!({"access_token": "unused", "token_type": "Bearer", "expires_in": 300, "id_token": token}))
    }

    fn sign(&self, claims: &Value, behaviour: &Behaviour) -> String {
        let algorithm = match behaviour.signing {
            Signing::Es256 | Signing::Es256OfAnother | Signing::Es256OfOtherText => "ES256",
            Signing::Rs256 => "RS256",
            Signing::Ps256 => "PS256",
            Signing::EdDsa => "EdDSA",
            Signing::None => "none",
            Signing::Hs256WithPublicKey | Signing::Hs256WithSecret => "HS256",
        };
        let mut header = json!({"alg": algorithm, "typ": "JWT"});
        if let Some(key_id) = behaviour.key_id {
            header["kid"] = key_id.into();
        }
        let text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let random = SystemRandom::new();
        let es = |pair: &EcdsaKeyPair, text: &str| pair.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec();
        let hs = |key: &[u8]| Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(&text).finalize().into_bytes().to_vec();
        let rsa = |padding| {
            let mut signature = vec![0; rsa_key().public().modulus_len()];
            rsa_key().sign(padding, &random, text.as_bytes(), &mut signature).unwrap();
            signature
        };
        let signature = match behaviour.signing {
            Signing::Es256 => es(&self.es, &text),
            Signing::Es256OfAnother => es(&self.other_es, &text),
            Signing::Es256OfOtherText => es(&self.es, "another text"),
            Signing::Rs256 => rsa(&RSA_PKCS1_SHA256),
            Signing::Ps256 => rsa(&RSA_PSS_SHA256),
            Signing::EdDsa => self.ed.sign(text.as_bytes()).as_ref().to_vec(),
            Signing::None => Vec::new(),
            Signing::Hs256WithPublicKey => hs(self.es.public_key().as_ref()),
            Signing::Hs256WithSecret => hs(CLIENT_SECRET.as_bytes()),
        };
        format!("{text}.{}", encoded(signature))
    }

    /// The status, the headers and the body of a response.
    fn respond(&self, posted: &Posted) -> (u16, String, String) {
        let path = posted.path.split('?').next().unwrap_or_default();
        *self.asked.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        let behaviour = self.behaviour.lock().unwrap().clone();
        if let Some(status) = behaviour.status {
            return (status, format!("location: {}/elsewhere\r\n", self.base), String::new());
        }
        let (status, document) = match path {
            "/.well-known/openid-configuration" => (200, self.metadata(&behaviour.metadata)),
            "/jwks" => (200, self.keys(behaviour.published_as)),
            "/authorize" => {
                let back = self.authorize(&format!("{}{}", self.base, posted.path));
                return (303, format!("location: {back}\r\n"), String::new());
            }
            "/token" => self.token(posted, &behaviour),
            _ => (404, json!({})),
        };
        (status, "content-type: application/json\r\n".to_owned(), document.to_string() + &" ".repeat(behaviour.padding))
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        connections.spawn(async move {
            // A client that goes away is no failure of the issuer.
            converse(stream, &shared).await.unwrap_or_default();
        });
    }
}

async fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    let posted = read(&mut stream).await?;
    let (status, headers, body) = shared.respond(&posted);
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.flush().await
}
