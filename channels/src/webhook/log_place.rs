//! Endpoints for what concerns no person: an auditor's webhook and witnesses for checkpoints of the log, and the endpoints that are told when
//! a suspension is over.
//!
//! The operator names them, so they may be in subnets that the operator opens. Apart from that they follow the rules of all webhooks:
//! each connection goes to an address that was checked just before, without redirects and proxies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::header::CONTENT_TYPE;
use secrecy::SecretString;

use super::address::AddressFilter;
use super::endpoint::{Endpoint, TOTAL_TIMEOUT, usable, why};
use super::resolver::{SystemLookup, Unresolved};
use super::{WebhookSettings, WebhookSettingsError};
use crate::DeliveryError;

/// Posts signed messages to an endpoint that the operator named.
pub struct SignedHook(Endpoint);

impl SignedHook {
    /// Checks the settings; nothing is connected yet. `own` holds the addresses on which the server listens.
    pub fn new(settings: &WebhookSettings, own: &[SocketAddr]) -> Result<Self, WebhookSettingsError> {
        let filter = AddressFilter { allowed: settings.allow_subnets.clone(), own: own.to_vec() };
        let url = usable(&settings.url, &filter)?;
        Endpoint::new(url, settings.keys()?, filter, settings.timeout, Arc::new(SystemLookup)).map(Self)
    }

    /// Resolves the endpoint's host, as a message does, and sends nothing. Returns the host and its addresses.
    pub async fn check(&self) -> Result<(String, Vec<IpAddr>), Unresolved> {
        let (host, addresses) = self.0.addresses().await?;
        Ok((host, addresses.into_iter().map(|address| address.ip()).collect()))
    }

    /// Posts a message of JSON, signed at `timestamp`, in seconds since 1970. The id stays the same over all tries.
    pub async fn post(&self, id: &str, timestamp: i64, body: Vec<u8>) -> Result<(), DeliveryError> {
        self.0.post(id, timestamp, body).await.map(|_| ())
    }
}

/// The answer of a witness, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessAnswer {
    /// The status.
    pub status: u16,
    /// The type of the body, if there is one.
    pub content_type: Option<String>,
    /// The body, up to one byte more than the limit of the call.
    pub body: Vec<u8>,
}

/// The address of a witness.
pub struct WitnessEndpoint(Endpoint);

impl WitnessEndpoint {
    /// Checks the settings; nothing is connected yet. `own` holds the addresses on which the server listens.
    pub fn new(url: &SecretString, allow_subnets: &[IpNet], own: &[SocketAddr]) -> Result<Self, WebhookSettingsError> {
        let filter = AddressFilter { allowed: allow_subnets.to_vec(), own: own.to_vec() };
        let url = usable(url, &filter)?;
        Endpoint::new(url, Vec::new(), filter, TOTAL_TIMEOUT, Arc::new(SystemLookup)).map(Self)
    }

    /// Posts a request, and reads at most one byte more than `bytes_max` of the answer, so that the caller notices one that is too long.
    pub async fn post(&self, request: String, bytes_max: usize) -> Result<WitnessAnswer, DeliveryError> {
        let failed = |error: reqwest::Error| DeliveryError::retry(&why(&error));
        self.0.check_literal().await?;
        let request = self.0.client.post(self.0.url.clone()).header(CONTENT_TYPE, "text/plain; charset=utf-8").body(request);
        let mut response = request.send().await.map_err(failed)?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, mut body) = (response.status().as_u16(), Vec::new());
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            let room = (bytes_max + 1).saturating_sub(body.len());
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() > bytes_max {
                break;
            }
        }
        Ok(WitnessAnswer { status, content_type, body })
    }
}
