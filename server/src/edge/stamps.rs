//! The stamps of lifecycle receipts: a code over a time, in the form of Harn. Only this server can check one.

use chrono::{DateTime, Utc};
use domain::asking::attesting::{hex, stamped_text};
use domain::wire::LifecycleStamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use store::{Store, StoreError};

/// The name of the secret in the database from which stamps are made; the secret is used for nothing else.
const STAMP_SECRET: &str = "lifecycle-receipts";
/// How many bytes of the hash of a key are its name.
const KEY_ID_BYTES: usize = 8;

/// The key of the stamps. It is kept in the database, so a stamp is the same after a restart and at each replica.
pub(crate) struct Stamps {
    secret: [u8; 32],
}

impl Stamps {
    /// The stamps of the server on this database.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(crate) async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        Ok(Self { secret: store.secret(STAMP_SECRET).await? })
    }

    /// The stamp of a time.
    pub(crate) fn stamp(&self, kind: &str, at: DateTime<Utc>, subject: &str, initiator: &str) -> LifecycleStamp {
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        let code = mac.chain_update(stamped_text(kind, at, subject, initiator)).finalize().into_bytes();
        LifecycleStamp {
            at_ms: at.timestamp_millis(),
            at,
            algorithm: "hmac-sha256".to_owned(),
            key_id: hex(&Sha256::digest(self.secret)[..KEY_ID_BYTES]),
            signature: format!("sha256:{}", hex(&code)),
        }
    }
}
