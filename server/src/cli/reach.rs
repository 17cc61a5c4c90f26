//! Finds out whether an address leads to this server: it asks for a proof that only this server can give.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::base::ids::Entropy;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::config::is_loopback;
use crate::crypto::provide_crypto;
use crate::edge::instance::{Instance, challenge};
use crate::edge::settings::Settings;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer that is read, in bytes: a proof, and the settings with the names and reasons in them.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The result of asking an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// This server.
    This,
    /// A Placet, but with another database.
    OtherPlacet,
    /// Something else, which answered with this status.
    Other(u16),
    /// A redirection, with its status and the host it names.
    Redirected(u16, String),
    /// A proxy, which says with this status that there is no server behind it.
    Gateway(u16),
    /// No answer, for this reason.
    Nothing(Unreached),
}

/// Why nothing was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreached {
    Name(String),
    Refused,
    Timeout,
    Encryption(String),
    /// The program that answers there speaks no TLS.
    Plain,
    Broken(String),
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::This => f.write_str("this server answers"),
            Self::OtherPlacet => f.write_str("another placet, with another database, answers"),
            Self::Other(status) => write!(f, "something else answers, with status {status}"),
            Self::Redirected(status, host) => write!(f, "it redirects to {host} (status {status})"),
            Self::Gateway(status) => write!(f, "a proxy answers with status {status}, because it finds no server behind it"),
            Self::Nothing(Unreached::Name(name)) => write!(f, "the name {name} does not resolve"),
            Self::Nothing(Unreached::Refused) => f.write_str("the connection was refused"),
            Self::Nothing(Unreached::Timeout) => write!(f, "there was no answer within {} seconds", TIMEOUT.as_secs()),
            Self::Nothing(Unreached::Plain) => f.write_str("the connection cannot be encrypted: the server there speaks no TLS"),
            Self::Nothing(Unreached::Encryption(why)) => write!(f, "the connection cannot be encrypted: {why}"),
            Self::Nothing(Unreached::Broken(why)) => f.write_str(why),
        }
    }
}

/// The members of the answer that are read.
#[derive(Deserialize)]
struct Answer {
    implementation: String,
    proof: String,
}

/// Asks `address` whether it is `instance`. It reports redirections and does not follow them.
pub(crate) async fn ask(address: &Url, instance: &Instance, entropy: &dyn Entropy) -> anyhow::Result<Reached> {
    let client = client()?;
    if let Some(unknown) = unknown_name(address).await {
        return Ok(Reached::Nothing(Unreached::Name(unknown)));
    }
    let challenge = challenge(entropy);
    let mut url = address.join("/.well-known/placet.json")?;
    url.query_pairs_mut().append_pair("challenge", &challenge);
    let response = match client.get(url).send().await {
        Ok(response) => response,
        Err(error) => return Ok(Reached::Nothing(why(&error))),
    };
    let status = response.status();
    if status.is_redirection() {
        let location = response.headers().get("location").and_then(|location| location.to_str().ok());
        let to = location.and_then(|location| address.join(location).ok());
        let host = to.as_ref().and_then(Url::host_str).unwrap_or("nowhere").to_owned();
        return Ok(Reached::Redirected(status.as_u16(), host));
    }
    if matches!(status.as_u16(), 502..=504) {
        return Ok(Reached::Gateway(status.as_u16()));
    }
    Ok(match serde_json::from_slice::<Answer>(&read(response).await) {
        Ok(answer) if instance.proved_by(&challenge, &answer.proof) => Reached::This,
        Ok(answer) if answer.implementation == "placet" => Reached::OtherPlacet,
        Ok(_) | Err(_) => Reached::Other(status.as_u16()),
    })
}

/// The settings of the server at an address, if it is `instance` and tells them.
///
/// The request holds a proof, and anyone who sees it can ask for the settings with it for two minutes. So the proof travels
/// encrypted or stays on this machine, and it goes only to `instance`.
pub(crate) async fn settings(address: &Url, instance: &Instance, entropy: &dyn Entropy, now: DateTime<Utc>) -> Option<Settings> {
    if !keeps_secrets(address) || ask(address, instance, entropy).await.ok()? != Reached::This {
        return None;
    }
    let challenge = challenge(entropy);
    let mut url = with_path(address, &[".well-known", "placet.json"]);
    url.query_pairs_mut().append_pair("challenge", &challenge).append_pair("reader", &instance.read_by(&challenge, now));
    let response = client().ok()?.get(url).send().await.ok()?;
    let answered: SettingsAnswer = serde_json::from_slice(&read(response).await).ok()?;
    answered.settings
}

/// Whether only this machine and the server there can read the data sent to an address.
pub(crate) fn keeps_secrets(address: &Url) -> bool {
    address.scheme() == "https" || is_loopback(address)
}

/// The answer of a server to a program that can read its database; an older server does not tell its settings.
#[derive(Deserialize)]
struct SettingsAnswer {
    settings: Option<Settings>,
}

/// Whether the server at an address is ready, and its explanation if it is not.
pub(crate) async fn readiness(address: &Url) -> (bool, String) {
    let url = with_path(address, &["readyz"]);
    let response = match client().map(|client| client.get(url).send()) {
        Ok(sent) => sent.await,
        Err(error) => return (false, format!("{error:#}")),
    };
    let response = match response {
        Ok(response) => response,
        Err(error) => return (false, Reached::Nothing(why(&error)).to_string()),
    };
    let ready = response.status().is_success();
    let status = response.status().as_u16();
    let body = read(response).await;
    let detail = serde_json::from_slice::<NotReady>(&body).map(|problem| problem.detail);
    let text = String::from_utf8_lossy(&body).trim().replace('\n', ", ");
    (ready, detail.unwrap_or(if ready { text } else { format!("not ready, with status {status}") }))
}

/// The longest document that is read, in bytes.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024;

/// The status of a path below an address, and the document there if it is JSON.
pub(crate) async fn document(address: &Url, path: &[&str]) -> Result<(u16, Option<Value>), Unreached> {
    let client = client().map_err(|error| why(&error))?;
    let response = client.get(with_path(address, path)).send().await.map_err(|error| why(&error))?;
    let status = response.status().as_u16();
    Ok((status, serde_json::from_slice(&read_up_to(response, DOCUMENT_BYTES_MAX).await).ok()))
}

/// The explanation of a server that is not ready.
#[derive(Deserialize)]
struct NotReady {
    detail: String,
}

/// An address below the path of a server's address.
fn with_path(address: &Url, path: &[&str]) -> Url {
    let mut url = address.clone();
    // An address with a host has segments.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

fn client() -> reqwest::Result<reqwest::Client> {
    provide_crypto();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(TIMEOUT)
        .user_agent(concat!("placet/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Reads a body up to the length that an answer may have.
async fn read(response: reqwest::Response) -> Vec<u8> {
    read_up_to(response, ANSWER_BYTES_MAX).await
}

async fn read_up_to(mut response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > most {
            break;
        }
    }
    body
}

/// The host, if its name does not resolve: a request would fail as well, but would not tell why.
async fn unknown_name(address: &Url) -> Option<String> {
    let Some(url::Host::Domain(name)) = address.host() else { return None };
    let port = address.port_or_known_default()?;
    let found = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((name, port))).await;
    let known = found.is_ok_and(|found| found.is_ok_and(|mut addresses| addresses.next().is_some()));
    (!known).then(|| name.to_owned())
}

/// Why a request got no answer.
pub(crate) fn why(error: &reqwest::Error) -> Unreached {
    if error.is_timeout() {
        return Unreached::Timeout;
    }
    let mut cause = error.source();
    let mut last = String::new();
    while let Some(this) = cause {
        if let Some(error) = this.downcast_ref::<rustls::Error>() {
            let is_plain = matches!(error, rustls::Error::InvalidMessage(_));
            return if is_plain { Unreached::Plain } else { Unreached::Encryption(error.to_string()) };
        }
        last = this.to_string();
        cause = this.source();
        if let Some(io) = this.downcast_ref::<io::Error>() {
            if io.kind() == io::ErrorKind::ConnectionRefused {
                return Unreached::Refused;
            }
            // The `source` of an I/O error skips the error that it wraps, so the wrapped error is looked at first.
            cause = io.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)).or(cause);
        }
    }
    Unreached::Broken(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proof is sent only over https or to this machine. If it crossed a network unencrypted, every listener on the way could
    /// ask for the server's settings with it.
    #[test]
    fn a_proof_is_sent_encrypted_or_stays_on_this_machine() {
        let keeps = |address: &str| keeps_secrets(&Url::parse(address).unwrap());
        for address in ["https://placet.example.com", "http://127.0.0.1:7420", "http://localhost:7420", "http://[::1]:7420"] {
            assert!(keeps(address), "{address}");
        }
        for address in ["http://placet.example.com", "http://192.168.1.5:7420", "http://localhost.example.com", "http://10.0.0.1"]
        {
            assert!(!keeps(address), "{address}");
        }
    }
}
