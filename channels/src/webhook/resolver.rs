//! Resolves a host to the addresses that a connection may be made to.
//!
//! Connections are made only to addresses that were checked: the HTTP client asks this resolver and no other, anew for every
//! connection, so an answer that changes after the check is checked again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{AddressFilter, Refusal};

/// How long the resolution of a name may take.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Resolves names to addresses.
#[async_trait]
pub(crate) trait Lookup: Send + Sync {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own name resolution.
pub(crate) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why a host has no address that may be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The name does not resolve.
    #[error("the name {0} does not resolve")]
    Unknown(String),
    /// The name did not resolve in time.
    #[error("the name {0} did not resolve within 5 s")]
    Timeout(String),
    /// All addresses of the host are refused.
    #[error("{host} leads to an address that is refused: {refusal}")]
    Refused {
        /// The host as configured.
        host: String,
        /// The refusal of the first address.
        refusal: Refusal,
    },
}

/// The resolver of one endpoint.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) filter: Arc<AddressFilter>,
    pub(crate) port: u16,
}

impl GuardedResolver {
    /// The addresses of `host` that a connection may be made to; at least one.
    pub(crate) async fn addresses(&self, host: &str) -> Result<Vec<SocketAddr>, Unresolved> {
        let found = tokio::time::timeout(RESOLVE_TIMEOUT, self.lookup.lookup(host)).await;
        let found = found.map_err(|_| Unresolved::Timeout(host.to_owned()))?;
        let found = found.map_err(|_| Unresolved::Unknown(host.to_owned()))?;
        let mut refusal = None;
        let mut addresses = Vec::new();
        for address in found.into_iter().map(|ip| SocketAddr::new(ip, self.port)) {
            match self.filter.check(address) {
                Ok(()) => addresses.push(address),
                Err(refused) => refusal = refusal.or(Some(refused)),
            }
        }
        match (addresses.is_empty(), refusal) {
            (false, _) => Ok(addresses),
            (true, Some(refusal)) => Err(Unresolved::Refused { host: host.to_owned(), refusal }),
            (true, None) => Err(Unresolved::Unknown(host.to_owned())),
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let addresses = this.addresses(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
