//! The SDK and stops: an agent parks, sees a pause between two steps, and hands in what it has.

use std::sync::{Arc, Mutex, PoisonError};

use domain::people::principal::Role;
use harness::on_each_store;
use placet::{Cause, Client, Conditions, GoOn, Hooks, Kind, Mode, Stage, StopRecord, SuspensionView};
use serde_json::json;

/// Notes what its hooks are told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn note(&self, what: &str, record: &StopRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what} {:?} {}", record.kind, record.stage.as_str()));
    }
}

impl Hooks for Told {
    fn on_stopped(&self, record: &StopRecord) {
        self.note("stopped", record);
    }

    fn on_stop_ended(&self, record: &StopRecord) {
        self.note("ended", record);
    }
}

on_each_store! {
    /// The agent acknowledges a pause by itself, and gets what it is given.
    async fn an_agent_sees_a_pause_between_two_steps_and_acknowledges_it(app: &mut TestApp) {
        let told = Told::default();
        let agent = Client::builder(&app.base, app.agent().key().to_owned()).hooks(told.clone()).build().unwrap();
        let operator = Client::new(&app.base, app.operator().key().to_owned()).unwrap();
        let intent = app.agent().active_intent().await;
        assert_eq!(agent.between_steps(intent).await.unwrap(), GoOn::Free);
        assert_eq!(agent.open_stop(intent).await.unwrap(), None);
        let paused = operator.pause(intent, Mode::FinishStep, Some("The supplier is checked.")).await.unwrap();
        let resumed = async {
            // The operator waits until the agent has stopped.
            loop {
                let record = operator.stop_record(paused.id).await.unwrap();
                if record.stage == Stage::Suspended {
                    return operator.resume(paused.id, Some(json!({"supplier": "fine"}))).await.unwrap();
                }
            }
        };
        let (gone, resumed) = futures_util::join!(agent.between_steps(intent), resumed);
        assert_eq!(gone.unwrap(), GoOn::Resumed(Box::new(resumed)));
        assert_eq!(*told.0.lock().unwrap(), ["stopped Paused requested", "ended Paused suspended"]);

        let id = operator.pause(intent, Mode::FinishStep, None).await.unwrap().id;
        assert!(matches!(agent.suspension_of_any_kind(id).await.unwrap(), SuspensionView::Stop(record) if record.id == id));
        operator.stop(intent, false, None).await.unwrap();
        assert_eq!(agent.stop_record(id).await.unwrap().cause, Some(Cause::Stopped));
    }

    /// An agent parks until an event comes, and one whose work is ended hands in what it has.
    async fn an_agent_parks_and_hands_in(app: &mut TestApp) {
        let agent = Client::new(&app.base, app.agent().key().to_owned()).unwrap();
        let operator = Client::new(&app.base, app.operator().key().to_owned()).unwrap();
        let intent = app.agent().active_intent().await;
        let trigger = placet::Trigger { kind: "review".into(), provider: placet::Provider::Placet, events: vec!["approved".into()] };
        let conditions = Conditions { on_event: None, trigger: Some(trigger), timeout: None };
        let parked = agent.park(intent, "Waiting for the review.", Some(conditions)).await.unwrap();
        assert_eq!((parked.kind, parked.stage), (Kind::Parked, Stage::Suspended));
        let event = app.api(Role::Operator).post("api/v1/events", json!({"name": "approved", "payload": 7})).await.ok();
        assert_eq!(event["woken"], 1);
        let gone = agent.stop_ended(parked).await.unwrap();
        assert_eq!((gone.cause, gone.input), (Some(Cause::ConditionFired), Some(json!(7))));

        operator.stop(intent, true, Some("Another team does it.")).await.unwrap();
        let GoOn::Ending(record) = agent.between_steps(intent).await.unwrap() else { panic!("the end is not seen") };
        assert_eq!(record.reason.as_deref(), Some("Another team does it."));
        let handed_in = agent.hand_in(record.id, json!({"left": ["b"]})).await.unwrap();
        assert_eq!((handed_in.cause, handed_in.handoff), (Some(Cause::HandedOver), Some(json!({"left": ["b"]}))));
        assert_eq!(agent.between_steps(intent).await.unwrap(), GoOn::Closed(None));
    }
}
