//! The reference for people: who may answer which question, and who completes a quorum, according to the events of both logs.
//!
//! It shares no code with the server. Transactions follow each other in a simulated world, so the people and groups are known exactly at
//! each event of an intent.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::time::{micros, parse};
use serde_json::Value;
use store::sqlite::simulated::SimulatedDatabase;

use crate::model::{Checked, must};
use crate::watch::lines;

/// The beginning of a query for the events of the server's log after one, oldest first; its number is appended to it.
const EVENTS: &str = "SELECT json_array(sequence, event_type, CAST(bytes AS TEXT)) FROM server_events WHERE event_type <> 'log_key.added' AND sequence > ";

/// A moment of an event, in microseconds, and whether the event is dated exactly: an event that follows another one at the same time may
/// have happened before it, by a clock that was set back.
#[derive(Clone, Copy)]
pub(crate) struct Dated {
    pub(crate) at: i64,
    pub(crate) is_exact: bool,
}

/// A person who is listed.
#[derive(Clone)]
struct Listed {
    id: String,
    role: String,
    away: Option<Away>,
}

/// The time for which a person is out of office.
#[derive(Clone)]
struct Away {
    from: i64,
    until: i64,
    deputy: String,
}

/// The people and groups, and the questions that are assigned to them.
#[derive(Clone, Default)]
pub(crate) struct Council {
    people: BTreeMap<String, Listed>,
    groups: BTreeMap<String, BTreeSet<String>>,
    /// The owners of keys, with the subjects of these keys.
    owned: Vec<(String, String)>,
    /// The owner of each agent.
    owners: BTreeMap<String, String>,
    asked: BTreeMap<String, Asked>,
    /// The last event of the server's log that was read.
    last: i64,
    /// Whether the clock runs like the true time, so that a person who is listed anew is known by the time.
    is_steady: bool,
    /// What happened in the last transaction, for the coverage.
    pub(crate) news: Vec<&'static str>,
}

/// A question that is assigned to people.
#[derive(Clone)]
struct Asked {
    askers: Vec<String>,
    to: Assigned,
    quorum: Option<Quorum>,
    keeps_owner_out: bool,
    /// The places that were handed on: whose place it was at first, from whom, and to whom.
    handed: Vec<(String, String, String)>,
    counted: Vec<Counted>,
    claimed_by: Option<String>,
}

#[derive(Clone)]
struct Assigned {
    people: BTreeSet<String>,
    groups: BTreeSet<String>,
    roles: BTreeSet<String>,
}

#[derive(Clone)]
struct Quorum {
    approvals: usize,
    refusals: usize,
    by_group: Vec<(String, usize)>,
    refusing: Vec<Value>,
}

/// An answer that counts.
#[derive(Clone)]
struct Counted {
    person: String,
    /// The id under which the person was listed then.
    id: String,
    value: Value,
    gateway: Option<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn size(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

fn time(value: &Value) -> i64 {
    value.as_str().and_then(parse).map(micros).unwrap_or_default()
}

fn assigned(value: &Value) -> Assigned {
    Assigned { people: texts(&value["people"]), groups: texts(&value["groups"]), roles: texts(&value["roles"]) }
}

fn gateway(payload: &Value) -> Option<String> {
    (payload["role"] == "channel").then(|| payload["credential"].to_string())
}

impl Council {
    /// The people and groups of a world in which these agents ask, each with its owner; without agents, of a world without people.
    pub(crate) fn new(owners: BTreeMap<String, String>, is_steady: bool) -> Self {
        Self { owners, is_steady, ..Self::default() }
    }

    /// How many people are listed.
    pub(crate) fn size(&self) -> usize {
        self.people.len()
    }

    /// Reads the new events of the server's own log.
    pub(crate) fn take_events(&mut self, database: &SimulatedDatabase) -> Checked {
        self.news.clear();
        if self.owners.is_empty() {
            return Ok(());
        }
        for line in lines(database, EVENTS, Some(self.last))? {
            let row: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            let event: Value = serde_json::from_str(&text(&row[2])).map_err(|error| error.to_string())?;
            self.last = row[0].as_i64().unwrap_or_default();
            self.of_server(&text(&row[1]), &event);
        }
        Ok(())
    }

    /// Applies an event of the server's own log.
    fn of_server(&mut self, event_type: &str, event: &Value) {
        let payload = &event["payload"];
        let address = text(&payload["address"]);
        match event_type {
            "person.added" => {
                let listed = Listed { id: text(&payload["person_id"]), role: text(&payload["role"]), away: None };
                self.people.insert(address, listed);
            }
            "person.changed" => {
                if let Some(person) = self.people.get_mut(&address) {
                    person.role = text(&payload["role"]);
                }
            }
            "person.removed" => {
                self.people.remove(&address);
                self.groups.values_mut().for_each(|members| _ = members.remove(&address));
                self.news.push("person removed");
            }
            "person.away" => {
                let away =
                    Away { from: time(&payload["from"]), until: time(&payload["until"]), deputy: text(&payload["deputy_id"]) };
                if let Some(person) = self.people.get_mut(&address) {
                    person.away = Some(away);
                }
                self.news.push("person out of office");
            }
            "person.back" => {
                if let Some(person) = self.people.get_mut(&address) {
                    person.away = None;
                }
            }
            "group.changed" => {
                self.groups.insert(text(&payload["group"]), texts(&payload["members"]));
                self.news.push("group edited");
            }
            "group.removed" => _ = self.groups.remove(&text(&payload["group"])),
            "key.created" | "key.imported" | "key.recorded" => {
                self.owned.push((text(&payload["owner"]), text(&payload["subject"]).to_lowercase()));
            }
            _ => {}
        }
    }

    /// Applies an event of an intent, and checks it.
    pub(crate) fn of_intent(&mut self, event_type: &str, creator: &str, payload: &Value, dated: Dated) -> Checked {
        let id = text(&payload["suspension_id"]);
        if event_type == "intent.suspended" {
            return self.ask(id, creator, payload);
        }
        let Some(asked) = self.asked.get(&id).cloned() else { return Ok(()) };
        match event_type {
            "intent.answer_counted" => self.count(&id, payload),
            "intent.answer_taken_back" => self.take_back(&id, payload),
            "intent.resumed" => self.resume(&asked, payload),
            "intent.claimed" => self.claim(&id, payload),
            "intent.claim_released" => self.release(&id, payload),
            "intent.delegated" => self.delegate(&id, payload, dated),
            "intent.reassigned" => self.reassign(&id, payload),
            "intent.suspension_expired" => {
                let is_silent = payload["fallback_value"].is_null() || asked.counted.is_empty();
                must!(is_silent, "I47: a fallback, although people had answered");
                Ok(())
            }
            "intent.suspension_cancelled" if payload["resolution_reason"] == "quorum_unmet" => {
                must!(!asked.counted.is_empty(), "I47: ended for want of a quorum, and nobody had answered");
                self.news.push("quorum unmet");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn ask(&mut self, id: String, creator: &str, payload: &Value) -> Checked {
        if payload["assignees"].is_null() {
            return Ok(());
        }
        let quorum = Some(&payload["quorum"]).filter(|quorum| !quorum.is_null()).map(|quorum| Quorum {
            approvals: size(&quorum["required_approvals"]),
            refusals: size(&quorum["required_refusals"]),
            by_group: quorum["required_by_group"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(group, least)| (group.clone(), size(least)))
                .collect(),
            refusing: quorum["refusing"].as_array().cloned().unwrap_or_default(),
        });
        let asked = Asked {
            askers: vec![text(&payload["asked_by"]), creator.to_owned()],
            to: assigned(&payload["assignees"]),
            keeps_owner_out: quorum.is_some() || !payload["separation"].is_null(),
            quorum,
            handed: Vec::new(),
            counted: Vec::new(),
            claimed_by: None,
        };
        let told = texts(&payload["notify_to"]);
        let is_right = |person: &String| self.place(&asked, person).is_some() && !self.is_kept_out(&asked, person);
        must!(told.iter().all(is_right), "I46: asked are {told:?}, and not all of them may answer");
        self.news.push(if asked.quorum.is_some() { "quorum asked" } else { "assigned question asked" });
        self.asked.insert(id, asked);
        Ok(())
    }

    /// Whether the person is behind the key of one of the askers.
    fn owns(&self, asked: &Asked, person: &str) -> bool {
        let owners = asked.askers.iter().filter_map(|asker| self.owners.get(asker));
        owners.into_iter().any(|owner| {
            owner.eq_ignore_ascii_case(person) || self.owned.iter().any(|(of, subject)| of == owner && subject == person)
        })
    }

    fn is_kept_out(&self, asked: &Asked, person: &str) -> bool {
        asked.keeps_owner_out && self.owns(asked, person)
    }

    fn is_member(&self, group: &str, person: &str) -> bool {
        self.groups.get(group).is_some_and(|members| members.contains(person))
    }

    /// The person whose place this one has at present.
    fn place(&self, asked: &Asked, person: &str) -> Option<String> {
        let answers = |address: &str| self.people.get(address).filter(|listed| listed.role != "auditor");
        let listed = answers(person)?;
        if asked.handed.iter().any(|(_, from, _)| from == person) {
            return None;
        }
        let own = asked.to.people.contains(person)
            || asked.to.groups.iter().any(|group| self.is_member(group, person))
            || asked.to.roles.contains(&listed.role);
        if own {
            return Some(person.to_owned());
        }
        let (place, ..) = asked.handed.iter().find(|(_, _, to)| to == person)?;
        (asked.to.people.contains(place) && answers(place).is_some()).then(|| place.clone())
    }

    /// Checks that a person answers in the place that the event says; returns that place.
    fn answers(&self, asked: &Asked, person: &str, in_place_of: &Value) -> Result<String, String> {
        must_be(!self.is_kept_out(asked, person), || format!("I46: {person} answers, and is behind the asker"))?;
        let place = self.place(asked, person);
        must_be(place.is_some(), || format!("I46: {person} answers, and may not"))?;
        let said = in_place_of.as_str().unwrap_or(person);
        must_be(place.as_deref() == Some(said), || format!("I46: {person} answers in the place of {said}, not of {place:?}"))?;
        Ok(said.to_owned())
    }

    fn count(&mut self, id: &str, payload: &Value) -> Checked {
        let asked = &self.asked[id];
        must!(asked.quorum.is_some(), "I46: an answer is counted, and the question has no quorum");
        let person = text(&payload["person"]);
        self.answers(asked, &person, &payload["in_place_of"])?;
        let listed = self.people[&person].id.clone();
        let counted = Counted { person: person.clone(), id: listed, value: payload["value"].clone(), gateway: gateway(payload) };
        if let Some(asked) = self.asked.get_mut(id) {
            asked.counted.retain(|other| other.person != person);
            asked.counted.push(counted);
        }
        self.news.push("answer counted");
        Ok(())
    }

    fn take_back(&mut self, id: &str, payload: &Value) -> Checked {
        let person = text(&payload["person"]);
        let asked = self.asked.get_mut(id).ok_or("I46: an answer to nothing is taken back")?;
        let before = asked.counted.len();
        asked.counted.retain(|counted| counted.person != person);
        must!(asked.counted.len() < before, "I46: an answer of {person} is taken back, and there is none");
        must!(text(&payload["taken_back_by"]).to_lowercase() == person, "I46: an answer is taken back by another person");
        self.news.push("answer taken back");
        Ok(())
    }

    fn resume(&mut self, asked: &Asked, payload: &Value) -> Checked {
        let Some(quorum) = &asked.quorum else {
            self.answers(asked, &text(&payload["responded_by"]).to_lowercase(), &payload["in_place_of"])?;
            self.news.push("assigned question answered");
            return Ok(());
        };
        let (value, agreed) = (&payload["value"], payload["agreed"].as_array().cloned().unwrap_or_default());
        let (mut people, mut places, mut gateways) = (Vec::new(), BTreeSet::new(), Vec::from_iter(gateway(payload)));
        for (number, one) in agreed.iter().enumerate() {
            let person = text(&one["person"]);
            let place = self.answers(asked, &person, &one["in_place_of"])?;
            must!(!people.contains(&person), "I46: {person} makes a quorum twice");
            must!(places.insert(place.clone()), "I46: the place of {place} makes a quorum twice");
            if number + 1 < agreed.len() {
                let before = asked.counted.iter().find(|counted| counted.person == person);
                let before = before.ok_or(format!("I46: {person} makes a quorum, and no answer of that person counts"))?;
                must!(before.value == *value, "I46: {person} makes a quorum with {}, and said {}", value, before.value);
                let is_same = !self.is_steady || before.id == self.people[&person].id;
                must!(is_same, "I46: {person} is listed anew, and an answer from before counts");
                if let Some(gateway) = &before.gateway {
                    must!(!gateways.contains(gateway), "I46: one gateway makes a quorum twice");
                    gateways.push(gateway.clone());
                }
            }
            people.push(person);
        }
        let needed = if quorum.refusing.contains(value) { quorum.refusals } else { quorum.approvals };
        must!(people.len() >= needed, "I46: {} people make a quorum of {needed}", people.len());
        if !quorum.refusing.contains(value) {
            for (group, least) in &quorum.by_group {
                let members = people.iter().filter(|person| self.is_member(group, person)).count();
                must!(members >= *least, "I46: {members} people of {group} make a quorum that needs {least}");
            }
        }
        self.news.push(if people.len() > 1 { "quorum completed by several" } else { "quorum completed by one" });
        Ok(())
    }

    fn claim(&mut self, id: &str, payload: &Value) -> Checked {
        let person = text(&payload["person"]);
        self.answers_or_owns(id, &person)?;
        let asked = self.asked.get_mut(id).ok_or("I48: nothing is claimed")?;
        must!(payload["taken_over_from"].as_str() == asked.claimed_by.as_deref(), "I48: a claim of {:?}", asked.claimed_by);
        asked.claimed_by = Some(person);
        self.news.push("question claimed");
        Ok(())
    }

    /// Checks that a person has a place in the question, or stands behind the asker of one that does not keep the owner out.
    fn answers_or_owns(&self, id: &str, person: &str) -> Checked {
        let asked = &self.asked[id];
        must!(!self.is_kept_out(asked, person), "I48: {person} is behind the asker, and has a place");
        must!(self.place(asked, person).is_some(), "I48: {person} has no place in the question");
        Ok(())
    }

    fn release(&mut self, id: &str, payload: &Value) -> Checked {
        let asked = self.asked.get_mut(id).ok_or("I48: nothing is released")?;
        must!(payload["person"].as_str() == asked.claimed_by.as_deref(), "I48: released is a claim of {}", payload["person"]);
        asked.claimed_by = None;
        Ok(())
    }

    fn delegate(&mut self, id: &str, payload: &Value, dated: Dated) -> Checked {
        let asked = &self.asked[id];
        let (place, from, to) = (text(&payload["place"]), text(&payload["from"]), text(&payload["to"]));
        must!(self.place(asked, &from).as_deref() == Some(place.as_str()), "I48: {from} hands on the place of {place}");
        must!(!self.is_kept_out(asked, &from), "I48: {from} is behind the asker, and hands a place on");
        must!(!self.owns(asked, &to), "I48: {to} is behind the asker, and gets a place");
        let answers = self.people.get(&to).is_some_and(|listed| listed.role != "auditor");
        must!(answers, "I48: {to} gets a place, and answers no questions");
        must!(!asked.handed.iter().any(|(_, left, _)| *left == to), "I48: {to} has handed a place on, and gets one");
        let has_answered = |person: &str| asked.counted.iter().any(|counted| counted.person == person);
        must!(!has_answered(&from) && !has_answered(&to), "I48: a place moves from {from} to {to}, and one of them has answered");
        if payload["out_of_office"] == true {
            must!(self.place(asked, &to).is_none(), "I48: {to} has a place, and gets that of {from} as well");
            self.stands_in(asked, payload, dated)?;
            self.news.push("deputy got a place");
        } else {
            self.news.push("place handed on");
        }
        let asked = self.asked.get_mut(id).ok_or("I48: a place of nothing")?;
        asked.claimed_by.take_if(|claim| *claim == from);
        asked.handed.push((place, from, to));
        Ok(())
    }

    /// Checks that each of the people before the deputy is out of office with the next one as deputy, and that the deputy is there.
    fn stands_in(&self, asked: &Asked, payload: &Value, dated: Dated) -> Checked {
        let via: Vec<String> = payload["via"].as_array().into_iter().flatten().map(text).collect();
        let (from, to) = (text(&payload["from"]), text(&payload["to"]));
        let chain: Vec<&String> = [&from].into_iter().chain(&via).chain([&to]).collect();
        must!(chain.iter().collect::<BTreeSet<_>>().len() == chain.len(), "I48: deputies go round: {chain:?}");
        must!(via.iter().all(|person| !self.owns(asked, person)), "I48: a person behind the asker is a deputy in between");
        for pair in chain.windows(2) {
            let (away, deputy) = (self.people.get(pair[0]), self.people.get(pair[1]));
            let absence = away.and_then(|person| person.away.as_ref()).ok_or(format!("I48: {} is in office", pair[0]))?;
            must!(deputy.is_some_and(|deputy| deputy.id == absence.deputy), "I48: {} is no deputy of {}", pair[1], pair[0]);
            let is_over = dated.is_exact && absence.until <= dated.at;
            must!(absence.from <= dated.at && !is_over, "I48: {} is not out of office at that time", pair[0]);
        }
        let is_there = |away: &Away| dated.at < away.from || away.until <= dated.at;
        let is_there = !dated.is_exact || self.people[&to].away.as_ref().is_none_or(is_there);
        must!(is_there, "I48: {to} gets a place, and is out of office as well");
        Ok(())
    }

    fn reassign(&mut self, id: &str, payload: &Value) -> Checked {
        let asked = self.asked.get_mut(id).ok_or("I48: nothing is reassigned")?;
        asked.to = assigned(&payload["assignees"]);
        asked.handed.clear();
        asked.claimed_by = None;
        let (asked, told) = (&self.asked[id], texts(&payload["notify_to"]));
        let is_right = |person: &String| self.place(asked, person).is_some() && !self.is_kept_out(asked, person);
        must!(told.iter().all(is_right), "I48: told are {told:?}, and not all of them may answer");
        self.news.push("question reassigned");
        Ok(())
    }
}

fn must_be(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}
