//! An operator sets the database back to a backup, serves it with `--after-restore`, and releases it when all is well.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;

use crate::bounce;
use crate::executor::SECOND;
use crate::process;
use crate::world::{Failed, World};

pub(crate) fn start(world: &Arc<World>) {
    let restoring = world.clone();
    world.spawn("restore", async move {
        let world = restoring;
        world.think(3 * world.plan.scale_seconds * SECOND).await;
        world.database.back_up().unwrap();
        let (backup, witness) = {
            let mut watch = world.watch.lock().unwrap();
            watch.overlook(&world.database);
            (watch.clone(), world.witness.lock().unwrap().clone())
        };
        world.tell("a backup is made");
        world.think(3 * world.plan.scale_seconds * SECOND).await;
        // The restore takes back only the database: what people were told and the messages that have left stay as they are.
        if !world.befalls(|_| true) {
            return;
        }
        world.tell("the database is set back");
        world.coverage.count("database set back");
        process::replace(&world, || {
            world.database.restore().unwrap();
            world.era.fetch_add(1, Ordering::SeqCst);
            world.is_to_hold.store(true, Ordering::SeqCst);
            let mut watch = world.watch.lock().unwrap();
            let checked = watch.set_back(backup, &world.database, world.clock());
            world.check(checked);
            // A witness contradicts the tree of a restored database, which grows another way. From here on there is a new one.
            *world.witness.lock().unwrap() = witness;
        });
        release(&world).await;
        bounce::report_from_before(&world);
    });
}

/// Releases the database, in as many tries as that takes.
async fn release(world: &Arc<World>) {
    loop {
        if !world.is_healed() {
            world.think(2 * world.plan.scale_seconds * SECOND).await;
        }
        if !world.watch.lock().unwrap().is_held {
            // No process has served it yet.
            world.pause().await;
            continue;
        }
        let released = world.call("an operator releases", |store| async move { store.release().await }.boxed()).await;
        match released {
            Ok(true) => {
                world.coverage.count("restored database released");
                return;
            }
            Err(Failed::Rejected(_)) => {
                world.fail("I24: a release was refused");
                return;
            }
            // The database may have been released already, by this call or by an earlier one whose reply was lost.
            Ok(false) | Err(Failed::Unknown) => {
                if !world.watch.lock().unwrap().is_held && !world.is_to_hold.load(Ordering::SeqCst) {
                    return;
                }
                world.pause().await;
            }
        }
    }
}
