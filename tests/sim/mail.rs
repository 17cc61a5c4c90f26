//! The mail server, which is not ours: it takes messages, refuses them, loses them, and says one thing while doing another.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use channels::{Channel, DeliveryError, Message, Receipt};

use crate::executor::{MILLISECOND, ProcessId, SECOND};
use crate::person;
use crate::process;
use crate::world::World;

/// The production channel through which one process sends.
pub(crate) struct MailServer {
    pub(crate) world: Arc<World>,
    pub(crate) process: ProcessId,
}

/// A message in somebody's mailbox.
#[derive(Clone)]
pub(crate) struct Mail {
    pub(crate) recipient: String,
    /// The answer link's token, as it stands in the link.
    pub(crate) token: String,
    /// The delivery's id.
    pub(crate) delivery: String,
}

#[async_trait]
impl Channel for MailServer {
    fn name(&self) -> &'static str {
        "email"
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        process::under_way(&self.world, self.process, 1);
        let result = self.take(message).await;
        process::under_way(&self.world, self.process, -1);
        result
    }
}

impl MailServer {
    async fn take(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        let world = &self.world;
        let faults = &world.plan.faults.mail;
        process::strike(world, self.process, "sending");
        world.think(200 * MILLISECOND).await;
        world.executor.unpaused(self.process).await;
        let mail = self.opened(message);
        let retry = |reason: &str, after| Err(DeliveryError::Retry { reason: reason.to_owned(), after });
        if world.strikes(faults.panics) {
            world.coverage.count("channel panicked");
            std::panic::panic_any("planned: the channel panics");
        }
        if world.strikes(faults.not_now) {
            let after = world.draw(|chance| chance.happens(30)).then(|| Duration::from_mins(1));
            return retry("450 try again later", after);
        }
        if world.strikes(faults.never) {
            return Err(DeliveryError::Permanent { reason: "550 no such mailbox".to_owned() });
        }
        if world.strikes(faults.hangs) {
            // Longer than a lease, now and then: a promise of the channel that does not hold.
            let seconds = world.draw(|chance| *chance.pick(&[30, 30, 300]));
            world.executor.after(seconds * SECOND).await;
            if world.draw(|chance| chance.happens(50)) {
                self.hand_over(mail);
            }
            return retry("timed out", None);
        }
        if world.strikes(faults.doubtful) {
            world.coverage.count("mail taken, acknowledgement lost");
            self.hand_over(mail);
            return retry("the connection was lost after the message", None);
        }
        world.watch.lock().unwrap().taken.insert(mail.delivery.clone());
        if !world.strikes(faults.lost) {
            if world.strikes(faults.twice) {
                self.hand_over(mail.clone());
            }
            self.hand_over(mail);
        }
        Ok(Receipt { reply: "250 2.0.0 Ok".to_owned() })
    }

    /// What a person sees of a message; its secrets are remembered, to be looked for where they must not be.
    fn opened(&self, message: &Message) -> Mail {
        let token = message.link.rsplit('/').next().unwrap_or_default().to_owned();
        let bytes = URL_SAFE_NO_PAD.decode(token.trim_start_matches("plc_")).unwrap_or_default();
        let secret = bytes.get(8..).and_then(|secret| secret.try_into().ok());
        match secret {
            Some(secret) => self.world.secrets.lock().unwrap().push(secret),
            None => self.world.fail(format!("a message without an answer link: {}", message.link)),
        }
        Mail {
            recipient: message.recipient.clone(),
            token,
            delivery: message.message_id.split('@').next().unwrap_or_default().to_owned(),
        }
    }

    fn hand_over(&self, mail: Mail) {
        let world = self.world.clone();
        let longest = if world.draw(|chance| chance.happens(20)) { 3 * world.plan.scale_seconds * SECOND } else { SECOND };
        let delay = world.draw(|chance| chance.within(0..=longest));
        world.tell(format!("a mail for {} is taken", mail.recipient));
        let reader = world.clone();
        world.spawn(format!("{} reads", mail.recipient), async move {
            reader.executor.after(delay).await;
            person::read(&reader, mail).await;
        });
    }
}
