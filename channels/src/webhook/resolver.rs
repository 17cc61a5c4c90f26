//! From a host to the addresses a connection may be made to.
//!
//! The addresses that were checked are the addresses that are connected to: the HTTP client asks this resolver and no other, for every
//! connection anew, so an answer that changes after the check is checked again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{AddressFilter, Refusal};

/// How long the resolution of a name may take.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Where names become addresses.
#[async_trait]
pub(crate) trait Lookup: Send + Sync {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolution.
pub(crate) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Why a host leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The name leads nowhere.
    #[error("the name {0} does not resolve")]
    Unknown(String),
    /// It did not resolve in time.
    #[error("the name {0} did not resolve within 5 s")]
    Timeout(String),
    /// All its addresses are refused; this is why the first one is.
    #[error("{host} leads to an address that is refused: {refusal}")]
    Refused {
        /// As configured.
        host: String,
        /// Of the first address.
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
