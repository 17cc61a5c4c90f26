//! Sends the mails with login links, in the turns of the delivery loop.
//!
//! Guarantee: a link that was asked for is sent while it can be used, over a restart too. Mechanism: its row is leased, the mail is handed
//! over, the result is recorded. Failure: a crash in between sends another mail, and only its link works.

use std::sync::Arc;

use channels::{DeliveryError, LoginMail, Postbox};
use chrono::{DateTime, Utc};
use store::{LOGIN_LASTS, LeasedLogin, LoginResult, Store, StoreError};
use tokio::task::JoinSet;
use url::Url;

use crate::edge::address::host_with_port;

/// Sends login links, and alerts to admins, by mail.
pub struct Logins {
    pub(super) postbox: Arc<dyn Postbox>,
    pub(super) store: Arc<dyn Store>,
    pub(super) public_url: Url,
}

impl Logins {
    /// Sends the links of this store's people through `postbox`.
    pub fn new(postbox: Arc<dyn Postbox>, store: Arc<dyn Store>, public_url: Url) -> Self {
        Self { postbox, store, public_url }
    }

    /// Begins to send the mails that are due; returns their number, and when the next one is due.
    pub(super) async fn step(
        self: &Arc<Self>,
        under_way: &mut JoinSet<Result<(), StoreError>>,
    ) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let leased = self.store.lease_logins().await?;
        let count = leased.logins.len();
        for login in leased.logins {
            let this = self.clone();
            under_way.spawn(async move { this.send(login).await });
        }
        Ok((count, leased.next_due))
    }

    async fn send(&self, login: LeasedLogin) -> Result<(), StoreError> {
        let sent = self.postbox.send_login(&self.mail(&login)).await;
        let result = match sent {
            Ok(_) => LoginResult::Sent,
            Err(DeliveryError::Retry { reason, .. }) => {
                tracing::warn!(login.id = %login.id, login.tries = login.tries, reason, "a mail with a login link was not handed over; trying again");
                LoginResult::Retry
            }
            Err(DeliveryError::Permanent { reason } | DeliveryError::Gone { reason }) => {
                tracing::warn!(login.id = %login.id, reason, "a mail with a login link was refused for good");
                LoginResult::Failed
            }
        };
        self.store.complete_login(login.id, login.lease, result).await
    }

    fn mail(&self, login: &LeasedLogin) -> LoginMail {
        LoginMail {
            message_id: self.message_id(login),
            recipient: login.address.clone(),
            language: login.preferences.language().unwrap_or_default(),
            link: format!("{}login/{}", self.public_url, login.token.expose()),
            sent_at: login.asked_at,
            minutes: LOGIN_LASTS.num_minutes(),
            public_host: host_with_port(&self.public_url),
        }
    }

    /// The mail's message id. It differs from those of messages about questions, which are made of ids alone, and for each try, because
    /// each try has a link of its own.
    fn message_id(&self, login: &LeasedLogin) -> String {
        format!("login-{}.{}@{}", login.id, login.tries, self.public_url.domain().unwrap_or("localhost"))
    }
}
