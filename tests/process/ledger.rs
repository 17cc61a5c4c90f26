//! A record of everything that a server has acknowledged, kept outside of it, and the check that all of it is there.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::ids::IntentId;
use domain::log::{Sealed, verify_chain};
use harness::api::Api;
use harness::smtp::{Received, SmtpSink};
use serde_json::{Value, json};

/// The events that end a suspension.
const ENDINGS: &[&str] = &["intent.resumed", "intent.suspension_expired", "intent.suspension_cancelled"];

/// One question, as far as its agent and its operators know about it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) intent: IntentId,
    pub(super) suspension: String,
    pub(super) question: String,
    /// No other person is asked, so that mails can be told apart.
    pub(super) recipient: String,
    /// Whether its deadline comes while the test runs.
    pub(super) short: bool,
    /// Whether an operator tried to answer it, with whatever result.
    pub(super) tried: bool,
    /// The body of every 200 to an answer.
    pub(super) answers: Vec<Value>,
}

/// Every write that got its 200.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) intents: BTreeMap<IntentId, String>,
    pub(super) asked: BTreeMap<String, Asked>,
}

/// The closing figures.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) acks: usize,
    pub(super) mails: usize,
    pub(super) duplicates: usize,
    pub(super) open: usize,
    pub(super) answered: usize,
    pub(super) expired: usize,
    pub(super) unmailed: usize,
}

impl Ledger {
    /// Compares the server with its acknowledgements.
    pub(super) async fn check(&self, reader: &Api, smtp: &SmtpSink) -> Counts {
        let mails = by_recipient(&smtp.received());
        let mut counts = Counts { acks: self.intents.len(), ..Counts::default() };
        self.check_intents(reader).await;
        for asked in self.asked.values() {
            // Two acknowledged answers are one answer, told twice: a repetition under the same idempotency key.
            assert!(asked.answers.windows(2).all(|two| two[0] == two[1]), "{asked:?}");
            counts.acks += 1 + asked.answers.len();
            let record = reader.suspension(&asked.suspension).await;
            check_record(asked, &record);
            let types = check_chain(reader, asked.intent).await;
            check_endings(asked, &record, &types);
            let mails = mails.get(&asked.recipient).map_or(&[][..], Vec::as_slice);
            counts.mails += mails.len();
            counts.duplicates += mails.len().saturating_sub(1);
            match record["resolution"].as_str() {
                None => counts.open += 1,
                Some("responded") => counts.answered += 1,
                Some(_) => counts.expired += 1,
            }
            if mails.is_empty() {
                // A question may be without a mail only if it ended before its mail could leave.
                assert!(record["resolution"].is_string(), "the mail about an open question is lost: {asked:?}");
                assert!(!types.contains(&"delivery.sent".to_owned()), "a mail was reported sent and is lost: {asked:?}");
                counts.unmailed += 1;
            }
            check_mails(asked, &record, mails, reader).await;
        }
        counts
    }

    /// Questions whose mail is still on its way, or whose deadline still has to be applied.
    pub(super) async fn unsettled(&self, reader: &Api, smtp: &SmtpSink) -> usize {
        let mails = by_recipient(&smtp.received());
        let mut unsettled = 0;
        for asked in self.asked.values().filter(|asked| asked.short || !mails.contains_key(&asked.recipient)) {
            let ended = reader.suspension(&asked.suspension).await["resolution"].is_string();
            unsettled += usize::from(!ended);
        }
        unsettled
    }

    /// Every acknowledged intent is there, and no intent is there twice: a repetition never creates another.
    async fn check_intents(&self, reader: &Api) {
        let mut titles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for offset in (0..).step_by(1_000) {
            let page = reader.get(&format!("api/v1/intents?limit=1000&offset={offset}")).await.ok();
            let page = page["intents"].as_array().unwrap();
            for intent in page {
                let text = |name: &str| intent[name].as_str().unwrap().to_owned();
                titles.entry(text("title")).or_default().insert(text("id"));
            }
            if page.is_empty() {
                break;
            }
        }
        for (id, title) in &self.intents {
            assert_eq!(titles.get(title), Some(&BTreeSet::from([id.to_string()])), "{title}");
        }
        let twice: Vec<_> = titles.iter().filter(|(_, ids)| ids.len() > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}

fn by_recipient(mails: &[Received]) -> BTreeMap<String, Vec<Received>> {
    let mut by_recipient: BTreeMap<String, Vec<Received>> = BTreeMap::new();
    for mail in mails {
        by_recipient.entry(mail.to[0].clone()).or_default().push(mail.clone());
    }
    by_recipient
}

/// The record holds the question and, if it was acknowledged, the answer.
fn check_record(asked: &Asked, record: &Value) {
    assert_eq!(record["intent_id"], json!(asked.intent));
    assert_eq!(record["question"], json!(asked.question));
    assert_eq!(record["notify_to"], json!([asked.recipient]));
    if let Some(answer) = asked.answers.first() {
        assert_eq!(record["resolution"], json!("responded"), "an acknowledged answer is lost: {asked:?}");
        assert_eq!(record["response"], answer["value"]);
        assert_eq!(record["responded_by"], answer["responded_by"]);
        // Both times are the same moment. The answer came from the OpenIntent API, which writes times without `Z`.
        let at = record["responded_at"].as_str().unwrap();
        assert_eq!(at.trim_end_matches('Z'), answer["responded_at"].as_str().unwrap());
    }
}

/// Verifies the intent's chain; returns the types of its events.
async fn check_chain(reader: &Api, intent: IntentId) -> Vec<String> {
    let events = reader.events(intent).await;
    let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
    assert_eq!(verify_chain(&sealed), Ok(sealed.len() as u64), "{intent}");
    events.iter().map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
}

/// A question is open, or it was decided once; the log and the record agree.
fn check_endings(asked: &Asked, record: &Value, types: &[String]) {
    let count = |wanted: &[&str]| types.iter().filter(|name| wanted.contains(&name.as_str())).count();
    assert_eq!(count(&["intent_created"]), 1, "{types:?}");
    assert_eq!(count(&["intent.suspended"]), 1, "{types:?}");
    let ended = record["resolution"].is_string();
    assert_eq!(count(ENDINGS), usize::from(ended), "{asked:?} {types:?}");
    assert_eq!(count(&["intent.resumed"]), usize::from(record["resolution"] == json!("responded")), "{asked:?} {types:?}");
    if !asked.tried {
        assert_eq!(ended, asked.short, "only a deadline ends what nobody answers: {asked:?} {types:?}");
    }
}

/// Copies of a mail can be recognized as copies, and every copy leads to the question.
async fn check_mails(asked: &Asked, record: &Value, mails: &[Received], reader: &Api) {
    let ids: BTreeSet<_> = mails.iter().map(|mail| mail.header("message-id")).collect();
    assert!(ids.len() <= 1, "copies under several ids: {ids:?}");
    if mails.len() < 2 || record["resolution"].is_string() {
        return;
    }
    for mail in mails {
        let link = mail.link(reader.base());
        let page = reader.get(link.strip_prefix(reader.base()).unwrap()).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains(&asked.question), "{}", page.text);
    }
}
