//! Decides the consequences of messages: which people were reached, and which are asked at once because no one was reached.

use chrono::{DateTime, TimeDelta, Utc};

use crate::intent::Intent;
use crate::intent::event::Event;
use crate::suspension::Question;
use crate::suspension::channel::{Channels, Route, Way};
use crate::suspension::delivery::{Asked, DeliveryRecord, DeliveryState, Failover, Fate, Sibling};

/// A message waits for a failing endpoint for at most the time that is left, divided by this number.
const WAIT_PARTS: i32 = 4;

/// The ways (a channel and a recipient) by which people are told again at `attempt`: the ways that the question names for it,
/// except those whose messages are all lost (failed, came back, or never sent). If no person can answer by any of these ways,
/// the ways of the attempt's other messages that are not lost are added.
///
/// The recipient of a message to a chat room is the room's name. The way of this message is used again unchanged, so that no
/// other channel takes the name for a person.
pub(crate) fn ways_again(attempt: u32, asked: &Asked) -> Vec<Way> {
    let Asked { question, messages, channels } = asked;
    let of_this = || messages.iter().filter(|message| message.attempt == attempt);
    let is_lost = |route: &Route<'_>| {
        let mut theirs = of_this().filter(|message| message.route().is_same(route)).peekable();
        theirs.peek().is_some() && theirs.all(|message| message.state.is_lost())
    };
    let in_force = channels.routes(question.channel_at(attempt), question.recipients_at(attempt));
    let mut again: Vec<Route<'_>> = in_force.iter().copied().filter(|route| !is_lost(route)).collect();
    if !again.iter().any(|route| channels.is_answered(route.channel)) {
        again.extend(of_this().filter(|message| !message.state.is_lost()).map(Sibling::route));
    }
    // If no way is left by which a person can answer, all ways that the question names are used again, although their messages
    // are lost.
    if !again.iter().any(|route| channels.is_answered(route.channel)) {
        again.extend(in_force);
    }
    each_once(again, channels)
}

/// Each way (a channel and a recipient) once, without the ways by a channel that no longer exists.
pub fn each_once<'a>(routes: impl IntoIterator<Item = Route<'a>>, channels: &Channels) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for route in routes {
        if channels.contains(route.channel) && !ways.iter().any(|known| known.route().is_same(&route)) {
            ways.push(route.into());
        }
    }
    ways
}

/// The recipients that these ways lead to, each once.
pub fn recipients_of(ways: &[Way]) -> Vec<String> {
    let mut recipients: Vec<String> = Vec::new();
    for way in ways {
        if !recipients.iter().any(|known| known.eq_ignore_ascii_case(&way.recipient)) {
            recipients.push(way.recipient.clone());
        }
    }
    recipients
}

/// The events of a report about a message.
pub(crate) fn record(intent: &Intent, record: &DeliveryRecord, now: DateTime<Utc>) -> Vec<Event> {
    let delivery = record.delivery.clone();
    let open = intent.opened(delivery.suspension_id).filter(|open| !open.is_expired(now));
    // If the question has ended, `reached` keeps the value that decided its ending.
    let before = intent.suspension(delivery.suspension_id).is_some_and(|suspension| suspension.reached);
    let told = match record.fate {
        Fate::Sent => {
            let in_time = open.is_some();
            let answered = record.channels.carries_links(&delivery.channel);
            let reached = before || (in_time && answered);
            return vec![Event::DeliverySent { delivery, reached }];
        }
        Fate::Failed => Event::DeliveryFailed(delivery),
        Fate::Bounced => {
            let has_it = |other: &Sibling| other.state == DeliveryState::Sent && other.carries_link(&record.channels);
            let reached = if open.is_some() { record.siblings.iter().any(has_it) } else { before };
            Event::DeliveryBounced { delivery, reached }
        }
    };
    let failover = open.zip(record.question.as_deref()).and_then(|(open, question)| failover(open.attempt, question, record));
    let failover = failover.map(|failover| Event::DeliveryFailover(Box::new(failover)));
    std::iter::once(told).chain(failover).collect()
}

/// Whether a message may wait for its endpoint for `wait`, if `left` is the time until the next attempt or the deadline.
pub fn is_worth_waiting(wait: TimeDelta, left: TimeDelta) -> bool {
    wait * WAIT_PARTS <= left
}

/// Whether a person is asked by another channel if `lost` is given up, together with all messages that wait for the same
/// channel.
///
/// A step of the escalation ladder that uses the same channel does not help, because its people would wait for the same
/// endpoint.
pub fn has_another_way(current: u32, question: &Question, lost: &DeliveryRecord) -> bool {
    let mut record = lost.clone();
    let channel = &lost.delivery.channel;
    for sibling in record.siblings.iter_mut().filter(|sibling| sibling.channel == *channel) {
        if sibling.state == DeliveryState::Queued {
            sibling.state = DeliveryState::Failed;
        }
    }
    failover(current, question, &record).is_some_and(|failover| {
        let routes = record.channels.routes(failover.channel_hint.as_deref(), &failover.notify_to);
        routes.iter().any(|route| route.channel != channel && record.channels.is_answered(route.channel))
    })
}

/// The people to ask at once, if no message of the attempt in force, `current`, can reach a person any more.
///
/// They are asked only if all messages of that attempt are lost: as long as one person has the question, or may still get it,
/// asking the next people early would trouble more people than it helps. A room that has the question without a link cannot
/// answer it, and does not count. The loss of a message of an earlier attempt has no effect, because the attempt in force has
/// messages of its own.
fn failover(current: u32, question: &Question, record: &DeliveryRecord) -> Option<Failover> {
    let lost = &record.delivery;
    if lost.attempt != current {
        return None;
    }
    let siblings = || record.siblings.iter().filter(|sibling| sibling.attempt == lost.attempt);
    if siblings().any(|sibling| !sibling.state.is_lost() && sibling.is_answered(&record.channels)) {
        return None;
    }
    let mut unreachable: Vec<String> = Vec::new();
    for recipient in siblings().map(|sibling| &sibling.recipient).chain([&lost.recipient]) {
        if !unreachable.iter().any(|known| known.eq_ignore_ascii_case(recipient)) {
            unreachable.push(recipient.clone());
        }
    }
    // A person that mail does not reach may be reached by another channel, so routes are compared, and not people.
    let tried = |route: &Route<'_>| {
        route.is_same(&Route { channel: &lost.channel, recipient: &lost.recipient })
            || siblings().any(|sibling| route.is_same(&sibling.route()))
    };
    let policy = question.retry_policy.as_ref()?;
    (current + 1..=policy.max_attempts).find_map(|rung_attempt| {
        let channel_hint = question.channel_at(rung_attempt);
        let is_new = |people: &[String]| {
            let routes = record.channels.routes(channel_hint, people);
            routes.iter().any(|route| !tried(route) && record.channels.is_answered(route.channel))
        };
        let mut notify_to = question.recipients_during(rung_attempt..=rung_attempt);
        notify_to.retain(|person| is_new(std::slice::from_ref(person)));
        is_new(&notify_to).then(|| Failover {
            suspension_id: lost.suspension_id,
            attempt: current,
            rung_attempt,
            channel_hint: channel_hint.map(str::to_owned),
            notify_to,
            unreachable: unreachable.clone(),
            reason: lost.detail.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::base::ids::SuspensionId;
    use crate::suspension::delivery::Delivery;
    use serde_json::{Map, json};
    use uuid::Uuid;

    use super::*;
    use crate::base::ids::DeliveryId;
    use crate::suspension::channel::{NamedChannel, Reach};

    /// A question with three attempts: the first asks `a`, the second `b`, and the third `c` and `A`.
    fn question() -> Question {
        let policy = json!({"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": [
            {"attempt": 2, "notify_to": "b@x.example"}, {"attempt": 3, "notify_to": ["c@x.example", "A@x.example"], "channel_hint": "pager"},
        ]});
        Question {
            question: String::new(),
            context: Map::new(),
            channel_hint: None,
            timeout_seconds: None,
            retry_policy: Some(serde_json::from_value(policy).unwrap()),
            confidence_at_suspension: None,
            decision_record: None,
            recipients: vec!["a@x.example".into()],
            asked_before: None,
            requested: None,
            client_id: None,
            required_assurance: None,
            assignees: None,
            risk: None,
            separation: None,
            comment_on_refusal: None,
            proposal: None,
            grounds: None,
            errand: None,
        }
    }

    /// Two channels. Messages leave by mail, unless a step of the escalation ladder prefers the pager.
    fn channels() -> Channels {
        let people = |name: &str| NamedChannel { name: name.into(), reach: Reach::People, links: true };
        Channels::new(vec![people("email"), people("pager")], vec!["email".into()]).unwrap()
    }

    /// The report that the message of `attempt` to the person `lost` is lost; the other messages of the question are `beside`.
    fn lost_at(attempt: u32, lost: &str, beside: &[(u32, &str, DeliveryState)]) -> DeliveryRecord {
        let siblings = beside.iter().map(|(attempt, recipient, state)| Sibling {
            attempt: *attempt,
            channel: "email".into(),
            recipient: (*recipient).to_owned(),
            state: *state,
            linked: None,
        });
        DeliveryRecord {
            delivery: Delivery {
                suspension_id: SuspensionId(Uuid::nil()),
                delivery_id: DeliveryId(Uuid::nil()),
                attempt,
                sequence: 1,
                channel: "email".into(),
                recipient: lost.into(),
                detail: "550".into(),
                tries: 1,
            },
            fate: Fate::Failed,
            siblings: siblings.collect(),
            question: None,
            channels: channels(),
        }
    }

    /// The attempt and the people that are asked instead (the failover), if the report comes while the attempt `current` is in
    /// force.
    fn decided(current: u32, attempt: u32, lost: &str, beside: &[(u32, &str, DeliveryState)]) -> Option<(u32, Vec<String>)> {
        let record = lost_at(attempt, lost, beside);
        failover(current, &question(), &record).map(|failover| (failover.rung_attempt, failover.notify_to))
    }

    #[test]
    fn the_next_rung_that_names_somebody_else_is_asked() {
        use DeliveryState::{Bounced, Failed};
        let (a, b, c) = ("a@x.example", "b@x.example", "c@x.example");
        assert_eq!(decided(1, 1, a, &[]), Some((2, vec![b.into()])));
        assert_eq!(decided(1, 1, "B@X.example", &[(1, a, Failed)]), Some((3, vec![c.into(), "A@x.example".into()])), "by pager");
        let mut by_mail = question();
        by_mail.retry_policy.as_mut().unwrap().escalation_ladder[1].channel_hint = None;
        let decided_by_mail =
            |lost, beside: &[_]| failover(1, &by_mail, &lost_at(1, lost, beside)).map(|failover| failover.notify_to);
        assert_eq!(decided_by_mail("B@X.example", &[(1, a, Failed)]), Some(vec![c.into()]), "A is a, and both were tried");
        assert_eq!(decided_by_mail(c, &[(1, a, Failed), (1, b, Bounced)]), None, "nobody is left");
        assert_eq!(decided(2, 2, b, &[]), Some((3, vec![c.into(), "A@x.example".into()])));
        assert_eq!(decided(3, 3, c, &[(3, "A@x.example", Failed)]), None, "it was the last");
    }

    #[test]
    fn a_quarter_of_the_time_may_be_waited_and_no_more() {
        let seconds = TimeDelta::seconds;
        assert!(is_worth_waiting(seconds(900), seconds(3_600)));
        assert!(!is_worth_waiting(seconds(900) + TimeDelta::microseconds(1), seconds(3_600)));
        assert!(!is_worth_waiting(seconds(1), seconds(0)));
    }

    /// Messages that wait for a dead channel are worth giving up only if a person is then asked by another channel.
    #[test]
    fn a_dead_channel_is_gone_around_and_not_along() {
        use DeliveryState::{Queued, Sending, Sent};
        let mut by_pager = question();
        by_pager.channel_hint = Some("pager".into());
        let policy = by_pager.retry_policy.as_mut().unwrap();
        policy.escalation_ladder[0].channel_hint = Some("email".into());
        let lost = |beside: &[(u32, &str, DeliveryState)]| {
            let mut record = lost_at(1, "a@x.example", beside);
            record.delivery.channel = "pager".into();
            record.siblings.iter_mut().for_each(|sibling| sibling.channel = "pager".into());
            record
        };
        assert!(has_another_way(1, &by_pager, &lost(&[])));
        assert!(has_another_way(1, &by_pager, &lost(&[(1, "y@x.example", Queued)])), "that one waits for the same endpoint");
        assert!(!has_another_way(1, &by_pager, &lost(&[(1, "y@x.example", Sending)])), "that one may get through");
        assert!(!has_another_way(1, &by_pager, &lost(&[(1, "y@x.example", Sent)])));
        let mut by_mail = lost(&[(1, "y@x.example", Queued)]);
        by_mail.siblings[0].channel = "email".into();
        assert!(!has_another_way(1, &by_pager, &by_mail), "that one waits for another");
        by_pager.retry_policy.as_mut().unwrap().escalation_ladder[0].channel_hint = None;
        assert!(!has_another_way(1, &by_pager, &lost(&[])), "the next rung goes by the pager, too");
        assert!(!has_another_way(1, &by_pager, &lost(&[])) && !has_another_way(2, &by_pager, &lost(&[])));
    }

    #[test]
    fn nobody_is_asked_while_one_of_the_attempt_is_not_lost() {
        use DeliveryState::{Failed, Queued, Sending, Sent};
        for state in [Queued, Sending, Sent] {
            assert_eq!(decided(1, 1, "x@x.example", &[(1, "a@x.example", state), (1, "y@x.example", Failed)]), None);
            // A message of an earlier attempt is no reason to wait, because its person did not answer before this attempt.
            assert!(decided(2, 2, "b@x.example", &[(1, "a@x.example", state)]).is_some());
        }
        assert_eq!(decided(2, 1, "a@x.example", &[]), None, "what is past wakes nobody");
    }

    /// A message on a board without an answer link reaches no person who can answer, so the next people must be asked at once.
    #[test]
    fn a_room_without_a_link_holds_nothing_up() {
        let board = NamedChannel { name: "board".into(), reach: Reach::Audience("hall".into()), links: false };
        let mail = NamedChannel { name: "email".into(), reach: Reach::People, links: true };
        let channels = Channels::new(vec![mail, board], vec!["email".into(), "board".into()]).unwrap();
        let mut record = lost_at(1, "a@x.example", &[(1, "hall", DeliveryState::Sent)]);
        record.siblings[0].channel = "board".into();
        record.channels = channels;
        assert_eq!(failover(1, &question(), &record).map(|failover| failover.notify_to), Some(vec!["b@x.example".into()]));
        // The decision depends on how the message was sent, and not on how its channel would send it today.
        record.siblings[0].linked = Some(true);
        assert_eq!(failover(1, &question(), &record), None, "the hall could answer");
        record.siblings[0].channel = "email".into();
        record.siblings[0].linked = Some(false);
        assert!(failover(1, &question(), &record).is_some(), "the hall could not");
        // The second step of this ladder adds only the board, where no person can answer. So no other people are asked early.
        let mut by_board = question();
        by_board.retry_policy.as_mut().unwrap().escalation_ladder.truncate(1);
        by_board.retry_policy.as_mut().unwrap().escalation_ladder[0] =
            serde_json::from_value(json!({"attempt": 2, "channel_hint": "board"})).unwrap();
        record.siblings.clear();
        assert_eq!(failover(1, &by_board, &record), None);
    }

    #[test]
    fn a_reminder_on_request_goes_to_who_has_the_question() {
        use DeliveryState::{Bounced, Failed, Queued, Sent};
        let at = |attempt, recipient: &str, state| Sibling {
            attempt,
            channel: "email".into(),
            recipient: recipient.into(),
            state,
            linked: None,
        };
        let (a, b) = ("a@x.example", "b@x.example");
        let again = |messages: &[Sibling]| {
            let asked = Asked { question: question(), messages: messages.to_vec(), channels: channels() };
            recipients_of(&ways_again(1, &asked))
        };
        assert_eq!(again(&[]), [a]);
        assert_eq!(again(&[at(1, a, Sent), at(1, b, Sent)]), [a]);
        assert_eq!(again(&[at(1, "A@x.example", Failed), at(1, b, Queued)]), [b]);
        assert_eq!(again(&[at(1, a, Failed), at(1, a, Sent), at(1, b, Sent)]), [a], "the second try got through");
        assert_eq!(again(&[at(1, a, Bounced)]), [a], "with nobody in their place, another try is all there is");
        assert_eq!(again(&[at(1, a, Bounced), at(2, b, Sent)]), [a], "another attempt is not this one");
    }

    /// A reminder to a chat room goes by the room's own channel. The room's name is in the field where other messages have a
    /// person's address, but no mail is sent to that name.
    #[test]
    fn a_room_is_told_again_by_its_own_channel_and_nobody_is_mailed_under_its_name() {
        use DeliveryState::{Failed, Sent};
        let mail = NamedChannel { name: "email".into(), reach: Reach::People, links: true };
        let room = NamedChannel { name: "room".into(), reach: Reach::Audience("hall".into()), links: true };
        let channels = Channels::new(vec![mail, room], vec!["email".into(), "room".into()]).unwrap();
        let at = |channel: &str, recipient: &str, state| Sibling {
            attempt: 1,
            channel: channel.into(),
            recipient: recipient.into(),
            state,
            linked: None,
        };
        let again = |messages: &[Sibling]| {
            let asked = Asked { question: question(), messages: messages.to_vec(), channels: channels.clone() };
            ways_again(1, &asked).into_iter().map(|way| format!("{} {}", way.channel, way.recipient)).collect::<Vec<_>>()
        };
        let (a, hall) = (at("email", "a@x.example", Failed), at("room", "hall", Sent));
        assert_eq!(again(&[a.clone(), hall.clone()]), ["room hall"]);
        assert_eq!(
            again(&[a.clone(), at("room", "hall", Failed), at("pager", "b@x.example", Sent)]),
            ["email a@x.example", "room hall"]
        );
        assert_eq!(again(&[a, hall, at("email", "b@x.example", Sent)]), ["room hall"]);
    }
}
