//! Decides which addresses a webhook may lead to: the public internet, and subnets that the operator opened.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The ports that a webhook may use, unless its address is in a subnet that the operator opened.
pub(super) const PORTS: [u16; 2] = [443, 8443];

/// IPv4 ranges that are not the public internet (IANA's special-purpose registry), and one cloud's metadata
/// service outside of them.
const REFUSED_V4: [Ipv4Net; 20] = [
    net4([0, 0, 0, 0], 8),        // "This network".
    net4([10, 0, 0, 0], 8),       // Private.
    net4([100, 64, 0, 0], 10),    // Carrier-grade NAT; Alibaba's metadata service.
    net4([127, 0, 0, 0], 8),      // This machine.
    net4([168, 63, 129, 16], 32), // Azure's metadata and DNS.
    net4([169, 254, 0, 0], 16),   // Link-local; the metadata service of most clouds.
    net4([172, 16, 0, 0], 12),    // Private.
    net4([192, 0, 0, 0], 24),     // Protocol assignments; Oracle's metadata service.
    net4([192, 0, 2, 0], 24),     // Documentation.
    net4([192, 31, 196, 0], 24),  // AS112.
    net4([192, 52, 193, 0], 24),  // AMT.
    net4([192, 88, 99, 0], 24),   // 6to4 relays.
    net4([192, 168, 0, 0], 16),   // Private.
    net4([192, 175, 48, 0], 24),  // AS112.
    net4([198, 18, 0, 0], 15),    // Benchmarks.
    net4([198, 51, 100, 0], 24),  // Documentation.
    net4([203, 0, 113, 0], 24),   // Documentation.
    net4([224, 0, 0, 0], 4),      // Multicast.
    net4([240, 0, 0, 0], 4),      // Reserved.
    net4([255, 255, 255, 255], 32),
];

/// The only IPv6 range that is routed publicly. Outside of it are loopback, mapped and compatible IPv4, NAT64, unique local and
/// link-local addresses (with the metadata services in them), and multicast.
const PUBLIC_V6: Ipv6Net = net6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Ranges inside [`PUBLIC_V6`] that are refused all the same. An address of Teredo or 6to4, for example, contains an IPv4 address
/// that anyone can choose.
const REFUSED_V6: [Ipv6Net; 5] = [
    net6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),         // Teredo, benchmarks, ORCHID, AMT.
    net6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),     // Documentation.
    net6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),         // 6to4.
    net6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), // AS112.
    net6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),         // Documentation.
];

const fn net4(address: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::from_octets(address), bits)
}

const fn net6(address: [u16; 8], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::from_segments(address), bits)
}

/// Decides which addresses one endpoint may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressFilter {
    /// The subnets that the operator opened.
    pub(crate) allowed: Vec<IpNet>,
    /// The addresses on which this server itself listens: it must not answer its own webhooks.
    pub(crate) own: Vec<SocketAddr>,
}

/// Why a webhook may not lead to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The address is not on the public internet.
    #[error("{0} is not a public address; to allow it, list its subnet in allow_subnets")]
    Address(IpAddr),
    /// The port is neither 443 nor 8443.
    #[error("port {0} is neither 443 nor 8443; for any other port, the address must be in one of the allow_subnets")]
    Port(u16),
    /// This server itself listens on that address.
    #[error("this server itself listens on {0}")]
    Own(SocketAddr),
}

impl AddressFilter {
    /// Whether a webhook may connect to `address`.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), Refusal> {
        if self.own.iter().any(|own| is_same(*own, address)) {
            return Err(Refusal::Own(address));
        }
        if self.allows(address.ip()) {
            return Ok(());
        }
        if !is_public(address.ip()) {
            return Err(Refusal::Address(address.ip()));
        }
        if PORTS.contains(&address.port()) { Ok(()) } else { Err(Refusal::Port(address.port())) }
    }

    /// Whether the operator opened this address.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|net| net.contains(&address))
    }
}

/// Whether two addresses lead to one listener. A listener on the unspecified address is also at every loopback address, and
/// at the addresses of this machine's interfaces. The filter does not know the addresses of the interfaces: it refuses them
/// because they are private, unless the operator opens them.
fn is_same(own: SocketAddr, other: SocketAddr) -> bool {
    let ip = other.ip().to_canonical();
    own.port() == other.port() && (own.ip() == ip || (own.ip().is_unspecified() && (ip.is_loopback() || ip.is_unspecified())))
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !REFUSED_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => PUBLIC_V6.contains(&address) && !REFUSED_V6.iter().any(|net| net.contains(&address)),
    }
}
