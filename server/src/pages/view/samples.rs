//! Questions and pages for the tests of this module.

use chrono::{DateTime, TimeZone as _, Utc};
use domain::suspension::{Style, SuspensionChoice};
use serde_json::json;

use super::{
    Answers, Asked, Choices, DraftsShown, GroundsShown, HandsShown, Leads, Manner, OpenQuestion, Page, PlanRow, Reading, Silence,
};

pub(super) fn at(hour: u32, minute: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 24, hour, minute, 4).unwrap()
}

pub(super) fn choice(value: &str, label: &str, style: Style) -> SuspensionChoice {
    SuspensionChoice { value: value.to_owned(), label: label.to_owned(), description: None, style, metadata: None }
}

fn approve_and_deny() -> Choices {
    Choices::new(vec![choice("approve", "Refund €412.00", Style::Primary), choice("deny", "Do not refund", Style::Danger)])
}

pub(super) fn page() -> Page {
    Page {
        host: "placet.example".to_owned(),
        answering_as: Some("priya@example.com".to_owned()),
        leads: Leads::Nowhere,
        manner: Manner::default(),
    }
}

/// The address of the script that shows times.
pub(super) const TIMES: &str = "/assets/times-0.js";

pub(super) fn asked() -> Asked {
    Asked {
        agent: "refund-agent".to_owned(),
        intent_title: "Support".to_owned(),
        question: "Refund €412.00?\nThe parcel is lost.".to_owned(),
        at: at(7, 14),
    }
}

pub(super) fn open() -> OpenQuestion {
    OpenQuestion {
        page: page(),
        asked: asked(),
        before: None,
        context: json!({"order": "10-88421"}),
        beside: Vec::new(),
        answers: Answers::Choices(approve_and_deny()),
        now: at(7, 16),
        expires_at: Some(at(9, 30)),
        silence: Silence::Ends,
        waiting: 0,
        is_grouped: false,
        plan: vec![PlanRow { at: at(8, 0), sentence: "You get a reminder".to_owned(), end: false }],
        form_action: "/a/plc_token".to_owned(),
        times_path: TIMES.to_owned(),
        script_path: "/assets/answer-0.js".to_owned(),
        unlock_path: "/assets/unlock-0.js".to_owned(),
        nonce: "n0nce".to_owned(),
        comment: String::new(),
        timeline: None,
        reasons: None,
        error: None,
        reading: Reading::default(),
        assignees: Vec::new(),
        may_answer: true,
        owns_the_asker: false,
        out_of_reach: None,
        quorum: None,
        hands: HandsShown::default(),
        passkey: None,
        login: None,
        other: None,
        person: None,
        kept: None,
        drafts: DraftsShown::default(),
        risk: None,
        needs_comment: false,
        proposal: None,
        grounds: GroundsShown::default(),
    }
}
