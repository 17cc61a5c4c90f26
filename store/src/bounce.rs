//! The token that a message carries. When a message is reported to have come back, the token shows whether the report is genuine.
//! It consists of the message's row and a proof that we sent the message.

use domain::base::ids::DeliveryId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the secret in the database; it proves bounce tokens and nothing else.
pub(super) const BOUNCE_SECRET: &str = "bounce";
/// 96 bits are enough, because each guess must be sent to a running server, by the holder of a key.
const PROOF_BYTES: usize = 12;
/// The first part of the data that a proof signs, so that a proof is not valid as any other signature.
const PROOF_DOMAIN: &[u8] = b"placet.bounce.v1";

/// Names a message in its return address and its header, so that its return is recognised. It carries a proof, because a person
/// who could forge a token could make a question undeliverable.
///
/// Apart from one dot, the text has only digits and the letters a to f: mail servers have changed the case of addresses, and
/// systems differ in the other characters they accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BounceToken {
    row: i64,
    proof: [u8; PROOF_BYTES],
}

impl BounceToken {
    /// The token of a message. The proof covers the id as well: after a backup was restored, another
    /// message may have the same row.
    pub(super) fn new(secret: &[u8; 32], row: i64, id: DeliveryId) -> Self {
        let mut proof = [0; PROOF_BYTES];
        proof.copy_from_slice(&mac(secret, row, id).finalize().into_bytes()[..PROOF_BYTES]);
        Self { row, proof }
    }

    /// Reads a token, or the address a message was returned to; `None` for text that no server of ours wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let token = match text.trim_start_matches('<').rsplit_once('@') {
            Some((local, _)) => local.rsplit_once('+')?.1,
            None => text.as_str(),
        };
        let (row, digits) = token.split_once('.')?;
        let row = i64::from_str_radix(row, 16).ok()?;
        let mut proof = [0; PROOF_BYTES];
        proof.copy_from_slice(&u128::from_str_radix(digits, 16).ok()?.to_be_bytes()[16 - PROOF_BYTES..]);
        let read = Self { row, proof };
        // Other spellings of the same token, for example with leading zeros, are refused.
        (row > 0 && read.expose() == token).then_some(read)
    }

    /// Writes the token, for the message.
    pub fn expose(&self) -> String {
        let mut wide = [0; 16];
        wide[16 - PROOF_BYTES..].copy_from_slice(&self.proof);
        format!("{:x}.{:024x}", self.row, u128::from_be_bytes(wide))
    }

    /// The row of the message.
    pub(super) fn row(&self) -> i64 {
        self.row
    }

    /// Whether this is the token of the message with this id, in constant time.
    pub(super) fn matches(&self, secret: &[u8; 32], id: DeliveryId) -> bool {
        mac(secret, self.row, id).verify_truncated_left(&self.proof).is_ok()
    }
}

fn mac(secret: &[u8; 32], row: i64, id: DeliveryId) -> Hmac<Sha256> {
    // Unwrap safety: HMAC takes a key of any length.
    let mac = Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
    mac.chain_update(PROOF_DOMAIN).chain_update(row.to_be_bytes()).chain_update(id.0.as_bytes())
}

#[cfg(test)]
mod tests {
    use domain::suspension::delivery::BOUNCE_TOKEN_CHARS_MAX;

    use super::*;

    #[test]
    fn a_token_is_read_back_from_wherever_it_was_written() {
        let id = DeliveryId(uuid::Uuid::from_u128(7));
        for row in [1, i64::MAX] {
            let token = BounceToken::new(&[1; 32], row, id);
            let text = token.expose();
            assert!(text.len() <= BOUNCE_TOKEN_CHARS_MAX);
            let upper = text.to_uppercase();
            for written in [
                text.clone(),
                format!("bounces+{text}@example.com"),
                format!("<bounces+{text}@example.com>"),
                format!(" Bounces+{upper}@EXAMPLE.com\n"),
                format!("a+b+{text}@example.com"),
            ] {
                assert_eq!(BounceToken::parse(&written), Some(token), "{written}");
            }
            for wrong in [
                "",
                "1.",
                ".1",
                &text[1..],
                &format!("0{text}"),
                &format!("{text}0"),
                &format!("+{text}"),
                &format!("{text}@example.com"),
                "bounces@example.com",
                "-1.000000000000000000000001",
            ] {
                assert_ne!(BounceToken::parse(wrong), Some(token), "{wrong}");
            }
        }
    }

    #[test]
    fn a_token_fits_one_message_of_one_server() {
        let (id, other) = (DeliveryId(uuid::Uuid::from_u128(7)), DeliveryId(uuid::Uuid::from_u128(8)));
        let token = BounceToken::new(&[1; 32], 3, id);
        assert!(token.matches(&[1; 32], id));
        assert!(!token.matches(&[2; 32], id) && !token.matches(&[1; 32], other));
        assert!(!BounceToken { row: 4, ..token }.matches(&[1; 32], id));
    }
}
