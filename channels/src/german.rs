//! Mails to people who read German.

use domain::base::words::Language;

use crate::message::sample;
use crate::{Message, Occasion, Rendered, render};

/// Everything but the agent's words and the names is German, in the zone of the person as well.
#[test]
fn a_person_who_reads_german_gets_mails_in_german() {
    let german = |message| {
        let zone = Some(chrono_tz::Europe::Vienna);
        let message = Message { language: Language::German, display_time_zone: zone, plan: Vec::new(), ..message };
        render(&message).unwrap()
    };
    let rendered = german(sample::question());
    assert!(rendered.html.contains("<html lang=\"de\">"));
    let late = Message { suspended_at: sample::question().suspended_at - chrono::TimeDelta::hours(8), ..sample::reminder() };
    let asked_before = vec![Language::German.no_answer_yet("Priya Raman")];
    for message in [late, Message { occasion: Occasion::Escalation { asked_before }, ..sample::escalation() }] {
        let Rendered { text, html, .. } = german(message);
        for part in [text.replace('\n', " "), html] {
            for english in ["answer", "Please", "open", "asked", "You", "Tue"] {
                assert!(!part.split(|c: char| !c.is_alphanumeric()).any(|word| word == english), "{english}: {part}");
            }
            assert!(part.contains("09:30 UTC (10:30 MEZ)"), "{part}");
        }
    }
}
