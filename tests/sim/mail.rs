//! The mail server, which is not part of Placet: it takes messages, refuses them, loses them, and reports one thing while doing
//! another.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use channels::{Channel, DeliveryError, Message, Receipt};

use crate::bounce;
use crate::executor::{MILLISECOND, ProcessId, SECOND};
use crate::person;
use crate::process;
use crate::world::World;

/// The production channel through which one process sends.
pub(crate) struct MailServer {
    pub(crate) world: Arc<World>,
    pub(crate) process: ProcessId,
}

/// A message in a person's mailbox.
#[derive(Clone)]
pub(crate) struct Mail {
    pub(crate) recipient: String,
    /// The answer link's token, as it stands in the link.
    pub(crate) token: String,
    /// The delivery's id.
    pub(crate) delivery: String,
    /// The token by which its return is recognized.
    pub(crate) bounce_token: String,
    /// How often the database had been set back when this mail was sent.
    pub(crate) era: u64,
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
        let mail = opened(world, message);
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
            // Now and then the mail server hangs for longer than a lease lasts, although a channel must give up before that.
            let seconds = world.draw(|chance| *chance.pick(&[30, 30, 300]));
            world.executor.after(seconds * SECOND).await;
            if world.draw(|chance| chance.happens(50)) {
                hand_over(world, mail);
            }
            return retry("timed out", None);
        }
        if world.strikes(faults.doubtful) {
            world.coverage.count("mail taken, acknowledgement lost");
            hand_over(world, mail);
            return retry("the connection was lost after the message", None);
        }
        world.watch.lock().unwrap().taken.insert(mail.delivery.clone());
        if world.plan.restores && world.era() == 0 {
            world.posted.lock().unwrap().push(mail.clone());
        }
        if world.strikes(faults.bounces) {
            bounce::report_later(world, &mail);
            // Some systems report a message as returned although a person reads it. So in 30 of 100 cases the person may get this
            // mail as well.
            if world.draw(|chance| chance.happens(70)) {
                return Ok(Receipt { reply: "250 2.0.0 Ok".to_owned() });
            }
        }
        if !world.strikes(faults.lost) {
            if world.strikes(faults.twice) {
                hand_over(world, mail.clone());
            }
            hand_over(world, mail);
        }
        Ok(Receipt { reply: "250 2.0.0 Ok".to_owned() })
    }
}

/// A message as a person sees it; its secrets are remembered, so that the checks can look for them where they must not be.
pub(crate) fn opened(world: &World, message: &Message) -> Mail {
    let token = message.link.rsplit('/').next().unwrap_or_default().to_owned();
    let bytes = URL_SAFE_NO_PAD.decode(token.trim_start_matches("plc_")).unwrap_or_default();
    let secret = bytes.get(8..).and_then(|secret| secret.try_into().ok());
    match secret {
        Some(secret) => world.secrets.lock().unwrap().push(secret),
        None => world.fail(format!("a message without an answer link: {}", message.link)),
    }
    Mail {
        recipient: message.recipient.clone(),
        token,
        delivery: message.message_id.split('@').next().unwrap_or_default().to_owned(),
        bounce_token: message.bounce_token.clone(),
        era: world.era(),
    }
}

/// Puts a message where people read it, mostly soon.
pub(crate) fn hand_over(world: &Arc<World>, mail: Mail) {
    let longest = if world.draw(|chance| chance.happens(20)) { 3 * world.plan.scale_seconds * SECOND } else { SECOND };
    let delay = world.draw(|chance| chance.within(0..=longest));
    world.tell(format!("a message for {} is taken", mail.recipient));
    let reader = world.clone();
    world.spawn(format!("{} reads", mail.recipient), async move {
        reader.executor.after(delay).await;
        person::read(&reader, mail).await;
    });
}
