//! Endpoints behind TLS, with good certificates and bad ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The most of a request that is read.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// An authority that signs certificates; a client trusts it only if told to.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    /// A new authority, which no client knows.
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // The authority has a name of its own. Otherwise a self-signed certificate would seem to be signed by it.
        params.distinguished_name.push(DnType::CommonName, "an authority of the tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// The authority's certificate, as a PEM file.
    pub fn pem(&self) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&self.certificate))
    }

    /// A certificate for a name or an address.
    pub fn certificate(&self, name: &str) -> Identity {
        self.sign(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// One that was good until the year 2020.
    pub fn expired_certificate(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Identity { certificate, key }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// The certificate and key by which an endpoint identifies itself.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl Identity {
    /// A certificate that is its own authority.
    pub fn self_signed(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        Self { certificate: params.self_signed(&key).unwrap().der().clone(), key }
    }
}

/// An endpoint behind TLS on 127.0.0.1 that answers everything with 204.
pub struct TlsEndpoint {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl TlsEndpoint {
    /// Starts one that shows this certificate.
    pub async fn start(identity: Identity) -> Self {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Another test may have installed it first.
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        let key = PrivateKeyDer::Pkcs8(identity.key.serialize_der().into());
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![identity.certificate], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, requests) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, acceptor, connections.clone(), requests.clone()));
        Self { address, connections, requests, _serving: serving }
    }

    /// The address at which it listens.
    pub fn url(&self) -> String {
        format!("https://{}/hooks/s3cr3t", self.address)
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many connections sent data to the endpoint.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, connections: Arc<AtomicUsize>, requests: Arc<AtomicUsize>) {
    let mut conversations = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        conversations.spawn(converse(stream, acceptor.clone(), requests.clone()));
    }
}

async fn converse(stream: TcpStream, acceptor: TlsAcceptor, requests: Arc<AtomicUsize>) {
    // A client that does not trust the certificate ends the connection here.
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut request = vec![0; REQUEST_BYTES_MAX];
    if !matches!(stream.read(&mut request).await, Ok(1..)) {
        return;
    }
    requests.fetch_add(1, Ordering::SeqCst);
    // The result does not depend on whether the client still listens.
    stream.write_all(b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n").await.ok();
    stream.shutdown().await.ok();
}
