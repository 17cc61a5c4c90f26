//! The result of a sent message is recorded even if the store is away just then.

use std::sync::atomic::Ordering;

use domain::suspension::delivery::DeliveryState;
use serde_json::json;
use store::sqlite::simulated::Fate;

use crate::storage::site::Site;

/// A mail has been sent, but the store does not confirm its result at the first try, because the queue is full for example.
/// The server tries to record the result again. Otherwise the mail would be sent a second time.
#[tokio::test]
async fn a_result_the_store_does_not_take_is_recorded_a_moment_later() {
    for fate in [Fate::Refused, Fate::BrokenAfter(0), Fate::Unheard { applied: false }, Fate::Unheard { applied: true }] {
        let site = Site::new(3, fate).await;
        for seconds in [0, 1, 2, 4] {
            site.after(seconds).await;
        }
        let message = site.message().await;
        assert_eq!((message.state, message.tries), (DeliveryState::Sent, 1), "{fate:?}");
        site.after(200).await; // By then the lease would have ended.
        assert_eq!(site.mails(), 1, "{fate:?}");
    }
}

/// The store is away for longer than the lease. The server remembers which mails it has sent and records them before it leases
/// again.
#[tokio::test]
async fn a_store_that_is_away_for_longer_than_the_lease_makes_no_mail_go_out_twice() {
    let site = Site::new(1, Fate::Refused).await;
    site.after(0).await;
    assert_eq!((site.mails(), site.message().await.state), (1, DeliveryState::Sending));
    *site.weather.is_down.lock().unwrap() = true;
    for _ in 0..120 {
        site.after(5).await;
    }
    *site.weather.is_down.lock().unwrap() = false;
    site.after(1).await;
    assert_eq!((site.mails(), site.message().await.state), (1, DeliveryState::Sent));
    site.after(1_000).await;
    assert_eq!(site.mails(), 1);
}

/// A result that cannot be recorded is given up after an hour. The message is then sent again, as if the worker that sent it had
/// died. Until then the server leases the message again and again, but never sends it a second time.
#[tokio::test]
async fn a_result_is_kept_for_an_hour() {
    let site = Site::new(u32::MAX, Fate::Refused).await;
    for _ in 0..360 {
        site.after(10).await;
    }
    assert_eq!(site.mails(), 1);
    site.weather.completions.store(0, Ordering::SeqCst);
    assert_eq!(site.message().await.state, DeliveryState::Sending);
    site.weather.completions.store(u32::MAX, Ordering::SeqCst);
    for _ in 0..30 {
        site.after(10).await;
    }
    assert_eq!(site.mails(), 2);
}

/// Another server may take over a message whose lease has ended. A server therefore records all known results before it leases
/// messages.
#[tokio::test]
async fn what_is_known_is_recorded_before_anything_is_leased() {
    let site = Site::new(0, Fate::Refused).await;
    site.ask(json!({})).await;
    site.weather.completions.store(2, Ordering::SeqCst);
    site.after(0).await;
    assert_eq!(site.mails(), 2);
    let late = site.ask(json!({})).await;
    site.weather.units.lock().unwrap().clear();
    site.after(1).await;
    let units = site.weather.units.lock().unwrap().clone();
    assert_eq!(units[..3], ["complete_delivery", "complete_delivery", "lease_deliveries"], "{units:?}");
    assert_eq!((site.messages(late).await[0].state, site.mails()), (DeliveryState::Sent, 3));
    assert_eq!(site.message().await.state, DeliveryState::Sent);
}
