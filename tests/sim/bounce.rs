//! The gateway that reports returned mail: once, several times, late, and sometimes for a mail that was never sent.

use std::sync::Arc;

use domain::people::principal::{Principal, Role};
use domain::suspension::delivery::BounceKind;
use futures_util::FutureExt;
use harness::requests;
use store::BounceReport;
use store::bounce::BounceToken;

use crate::executor::SECOND;
use crate::mail::Mail;
use crate::operator;
use crate::watch::hyphenated;
use crate::world::{Failed, World};

/// How many times the gateway sends a report at most while the outcome is unknown.
const TRIES: u32 = 4;
/// How many of the mails from before a restore the gateway reports as returned after the restore, at most.
const RETURNED_LATE_MAX: usize = 8;
/// Before the gateway reports a mail from before a restore, it looks at most this often whether a newer message has taken that
/// mail's row in the database.
const LOOKS: u32 = 8;

/// Reports a message after a while: that it will never arrive, or only that it is late.
pub(crate) fn report_later(world: &Arc<World>, mail: &Mail) {
    let (world, mail) = (world.clone(), mail.clone());
    world.clone().spawn(format!("{}'s mail comes back", mail.recipient), async move {
        world
            .think(world.draw(|chance| *chance.pick(&[1, world.plan.scale_seconds, 4 * world.plan.scale_seconds])) * SECOND)
            .await;
        let kind = if world.draw(|chance| chance.happens(75)) { BounceKind::Hard } else { BounceKind::Soft };
        let reports = world.draw(|chance| *chance.pick(&[1, 1, 3]));
        for _ in 0..reports {
            if world.draw(|chance| chance.happens(25)) {
                forge(&world, &mail).await;
            } else {
                report(&world, &mail, kind).await;
            }
        }
    });
}

/// Reports mails that were sent before the database was set back. The mails that the database no longer knows are preferred. The
/// gateway waits for a while, so that other messages may take their rows.
pub(crate) fn report_from_before(world: &Arc<World>) {
    let mut posted = std::mem::take(&mut *world.posted.lock().unwrap());
    posted.sort_by_key(|mail| operator::is_known(world, &mail.delivery));
    for mail in posted.into_iter().take(RETURNED_LATE_MAX) {
        let world = world.clone();
        world.clone().spawn(format!("{}'s mail comes back late", mail.recipient), async move {
            for _ in 0..LOOKS {
                world.think(world.plan.scale_seconds * SECOND).await;
                if is_anothers_row(&world, &mail) {
                    world.coverage.count("return into another's row");
                    break;
                }
            }
            world.coverage.count("return from before a restore");
            report(&world, &mail, BounceKind::Hard).await;
        });
    }
}

/// Whether the database row in which this mail was recorded now belongs to another message.
fn is_anothers_row(world: &World, mail: &Mail) -> bool {
    let row = mail.bounce_token.split_once('.').and_then(|(row, _)| i64::from_str_radix(row, 16).ok());
    let watch = world.watch.lock().unwrap();
    row.and_then(|row| watch.messages.get(&row)).is_some_and(|other| hyphenated(&other.id) != mail.delivery)
}

/// The principal that reports.
fn gateway() -> Principal {
    requests::principal("bounces", Role::Channel)
}

async fn report(world: &Arc<World>, mail: &Mail, kind: BounceKind) {
    let Some(token) = BounceToken::parse(&mail.bounce_token) else {
        world.fail(format!("I11: a message carries no token to return by: {}", mail.bounce_token));
        return;
    };
    if kind == BounceKind::Hard {
        world.watch.lock().unwrap().returned.insert(mail.delivery.clone());
    }
    for _ in 0..TRIES {
        let report = BounceReport { token, kind, detail: Some("550 no such mailbox".to_owned()) };
        let what = format!("{}'s mail is reported as {kind:?}", mail.recipient);
        let reported = world.call(what, |store| async move { store.report_bounce(gateway(), Ok(report)).await }.boxed()).await;
        match reported {
            Ok(view) => {
                world.coverage.count("return reported");
                if view.id.to_string() != mail.delivery {
                    world.fail("I32: the report of one message was taken for another's");
                }
                return;
            }
            // The mail was sent by a database that has been set back since.
            Err(Failed::Rejected(_)) if mail.era != world.era() => return,
            Err(Failed::Rejected(rejection)) => {
                world.fail(format!("I33: a true report was refused with {}", rejection.entry().code));
                return;
            }
            Err(Failed::Unknown) => world.pause().await,
        }
    }
}

/// Reports a mail that was never sent: the right row with a wrong proof.
async fn forge(world: &Arc<World>, mail: &Mail) {
    let Some((row, proof)) = mail.bounce_token.split_once('.') else { return };
    let last = if proof.ends_with('0') { '1' } else { '0' };
    let forged = format!("{row}.{}{last}", &proof[..proof.len() - 1]);
    let Some(token) = BounceToken::parse(&forged) else { return };
    let report = BounceReport { token, kind: BounceKind::Hard, detail: None };
    world.coverage.count("return forged");
    if world
        .call("a forged return", |store| async move { store.report_bounce(gateway(), Ok(report)).await }.boxed())
        .await
        .is_ok()
    {
        world.fail("I32: a forged report of a return was believed");
    }
}
