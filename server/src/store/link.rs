//! Answer links: a 256-bit secret that is kept only as a hash, and the row it is found by.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::zeroize::Zeroize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// So that a scanner for leaked secrets can recognise a token.
const PREFIX: &str = "plc_";
/// The domain of the hash: a hash of a token is a hash of nothing else.
const HASH_DOMAIN: &[u8] = b"placet.link.v1";

/// The last path segment of an answer link. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct LinkToken {
    row: i64,
    secret: [u8; 32],
}

impl LinkToken {
    /// Joins the row a token is found by with its secret.
    pub fn new(row: i64, secret: [u8; 32]) -> Self {
        Self { row, secret }
    }

    /// Reads a path segment; `None` for anything no server of ours wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let (row, secret) = bytes.split_first_chunk::<8>()?;
        Some(Self { row: i64::from_be_bytes(*row), secret: secret.try_into().ok()? })
    }

    /// Writes the path segment, for the message only.
    pub fn expose(&self) -> String {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.row.to_be_bytes());
        bytes[8..].copy_from_slice(&self.secret);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The row it is found by.
    pub fn row(&self) -> i64 {
        self.row
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::new().chain_update(HASH_DOMAIN).chain_update(self.row.to_be_bytes()).chain_update(self.secret).finalize().into()
    }

    /// Whether `kept` is its hash, in constant time.
    pub fn matches(&self, kept: &[u8]) -> bool {
        self.hash().ct_eq(kept).into()
    }
}

impl Drop for LinkToken {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl std::fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

/// Takes every answer link's token out of somebody else's words; also one that quoted-printable has broken across lines.
pub fn without_tokens(text: &str) -> String {
    let joined = text.replace("=\r\n", "").replace("=\n", "");
    let mut parts = joined.split(PREFIX);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        clean.push('…');
        clean.push_str(rest);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_whatever_quotes_it() {
        let token = LinkToken::new(7, [9; 32]).expose();
        for (text, clean) in [
            (format!("552 <https://placet.example/a/{token}> refused"), "552 <https://placet.example/a/…> refused"),
            (format!("{token} {token}"), "… …"),
            (format!("{}=\r\n{}.", &token[..9], &token[9..]), "…."),
            (format!("{}=\n{}", &token[..9], &token[9..]), "…"),
            ("550 5.1.1 no such mailbox".to_owned(), "550 5.1.1 no such mailbox"),
        ] {
            assert_eq!(without_tokens(&text), clean);
        }
    }

    #[test]
    fn a_token_is_read_back_and_anything_else_is_not() {
        let token = LinkToken::new(7, [9; 32]);
        let text = token.expose();
        let read = LinkToken::parse(&text).unwrap();
        assert_eq!((read.row(), read.hash()), (7, token.hash()));
        assert!(read.matches(&token.hash()));
        assert!(!LinkToken::new(8, [9; 32]).matches(&token.hash()));
        for wrong in ["", "plc_", &text[4..], &text[..text.len() - 1], &format!("{text}A"), "plc_%00"] {
            assert!(LinkToken::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "LinkToken(…)");
    }
}
