//! The cryptography of TLS.

/// Gives TLS its cryptography, unless the process has some already.
pub(crate) fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none()
        && rustls::crypto::ring::default_provider().install_default().is_err()
    {
        tracing::debug!("another thread has just provided TLS with cryptography; using that");
    }
}
