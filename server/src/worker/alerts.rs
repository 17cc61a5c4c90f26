//! Mails admins when too few people are left to agree on a question.
//!
//! Guarantee: each listed admin gets one mail about a question, and it holds nothing of the question's content. Mechanism: the sweep over open
//! questions queues a row for each admin, which is leased, and stays. Failure: a mail that is not taken is tried again later; on a server
//! without mail, and without a listed admin, the warning in the log and the metric remain.

use channels::{AlertMail, DeliveryError};
use store::{LeasedAlert, LoginResult};

use super::logins::Logins;
use crate::edge::address::host_with_port;

/// How many times one turn leases mails: each time a few.
const LEASES_MAX: u32 = 50;

impl Logins {
    /// Sends the mails that are due; returns how many were taken.
    pub(super) async fn alert(&self) -> u64 {
        let mut taken = 0;
        for _ in 0..LEASES_MAX {
            let leased = match self.store.lease_alerts().await {
                Ok(leased) if leased.is_empty() => break,
                Ok(leased) => leased,
                Err(error) => {
                    tracing::warn!(error = %error, "failed to read the mails to admins that are due");
                    break;
                }
            };
            for alert in leased {
                taken += u64::from(self.send_alert(&alert).await);
            }
        }
        taken
    }

    /// Sends one mail; returns whether it was taken.
    async fn send_alert(&self, alert: &LeasedAlert) -> bool {
        // The log names the intent. The id of the question could be used to answer it.
        let id = alert.intent;
        let result = match self.postbox.send_alert(&self.alert_mail(alert)).await {
            Ok(_) => LoginResult::Sent,
            Err(DeliveryError::Retry { reason, .. }) => {
                tracing::warn!(intent.id = %id, tries = alert.tries, reason, "a mail to an admin was not handed over; trying again");
                LoginResult::Retry
            }
            Err(DeliveryError::Permanent { reason } | DeliveryError::Gone { reason }) => {
                tracing::warn!(intent.id = %id, reason, "a mail to an admin was refused for good");
                LoginResult::Failed
            }
        };
        if let Err(error) = self.store.complete_alert((alert.rid, alert.person), alert.lease, result).await {
            tracing::warn!(intent.id = %id, error = %error, "the result of a mail to an admin was not recorded");
        }
        result == LoginResult::Sent
    }

    fn alert_mail(&self, alert: &LeasedAlert) -> AlertMail {
        let question = alert.question.expose();
        let domain = self.public_url.domain().unwrap_or("localhost");
        AlertMail {
            message_id: format!("reach-{}.{}@{domain}", alert.question.0, alert.person.0),
            recipient: alert.address.clone(),
            language: alert.preferences.language().unwrap_or_default(),
            link: format!("{}questions/{question}", self.public_url),
            sent_at: alert.leased_at,
            agent: alert.agent.clone(),
            keeps_owner_out: alert.keeps_owner_out,
            question,
            public_host: host_with_port(&self.public_url),
        }
    }
}
