//! The ways in which an export can be tampered with, and the codes that name the right reason of each.

mod proofs;

use std::collections::BTreeMap;

use proof::key::SigningKey;
use serde_json::{Value, json};

use self::proofs::{checkpoints, erasures, header, histories, kept, manifest, proofs, selections};

use super::{Chance, Event, Export, Line, Log, Members, time};

/// One export that was tampered with, and everything that its verifier is given.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) keys: Vec<String>,
    pub(crate) kept: Vec<String>,
    /// The codes of which the first finding must have one.
    pub(crate) expected: &'static [&'static str],
}

/// The honest log that is tampered with: it has all kinds of events.
struct Scene {
    chance: Chance,
    log: Log,
    /// The places of the events of one intent.
    intent: Vec<usize>,
    /// The place of an event that was erased, which others of its log follow.
    erased: usize,
}

/// The files that a verifier is given.
struct Made {
    files: Vec<Vec<u8>>,
    kept: Vec<String>,
}

impl From<String> for Made {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<Vec<u8>> for Made {
    fn from(file: Vec<u8>) -> Self {
        Self { files: vec![file], kept: Vec::new() }
    }
}

/// A time before all events.
const LONG_AGO: &str = "2001-01-01T00:00:00.000001";

type Make = fn(&mut Scene) -> Made;
type Kind = (&'static str, &'static [&'static str], Make);

/// All kinds of tampering, done to a log that `seed` chooses, or to the events of `real`.
pub(crate) fn cases(seed: u64, real: Option<&Log>) -> impl Iterator<Item = Case> {
    let kinds = [
        text(),
        lines(),
        members(),
        forms(),
        writings(),
        order(),
        rules(),
        logs(),
        proofs(),
        selections(),
        erasures(),
        header(),
        manifest(),
        checkpoints(),
        histories(),
        kept(),
    ];
    kinds.into_iter().flatten().enumerate().map(move |(place, (name, expected, make))| {
        let seed = seed.wrapping_mul(1_000) + place as u64;
        let mut scene = real.map_or_else(|| Scene::new(seed), |real| Scene::of(real, seed));
        let keys = vec![scene.log.key.verifying().to_string()];
        let Made { files, kept } = make(&mut scene);
        Case { name, files, keys, kept, expected }
    })
}

/// A payload with something of everything that can be changed.
fn payload(chance: &mut Chance) -> Members {
    let value = json!({
        "amount": 10_000 + chance.below(10_000), "large": 9_007_199_254_740_990_u64, "rate": 0.25,
        "text": "caf\u{e9} for m\u{fc}ller",
        "nested": {"list": [1, true, null, "x"], "\u{1f600}\"": 1}, "free": chance.value(3),
    });
    value.as_object().unwrap().clone()
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let key = SigningKey::new("placet.example/log", &chance.bytes()).unwrap();
        let mut log = Log { events: Vec::new(), key, exported_at: String::new() };
        let logs: Vec<_> = ["log", "intent_id", "intent_id", "portfolio_id", "intent_id"]
            .into_iter()
            .map(|kind| (kind, if kind == "log" { json!("server") } else { json!(chance.id()) }))
            .collect();
        let mut micros = 3_000_000_000;
        let mut add = |chance: &mut Chance, log: &mut Log, place: usize| {
            micros += 2_000_000 + chance.below(1_000_000);
            let (payload, event_type) = (payload(chance), ["answered", "asked"][chance.place(2)]);
            log.append(chance, logs[place].clone(), event_type, payload, micros);
            micros
        };
        for place in 0..40 + chance.place(20) {
            let place = if place < 25 { place % 5 } else { chance.place(5) };
            add(&mut chance, &mut log, place);
        }
        let of = |log: &Log, name: (&str, &Value)| -> Vec<usize> {
            (0..log.events.len()).filter(|place| log.events[*place].log() == name).collect()
        };
        let erased = of(&log, (logs[2].0, &logs[2].1))[2];
        let now = add(&mut chance, &mut log, 1);
        log.erase(&mut chance, erased, now);
        let last = [0, 2, 3, 4, 1].map(|place| add(&mut chance, &mut log, place))[4];
        log.exported_at = format!("{}Z", time(last + 1_000_000));
        let intent = of(&log, (logs[1].0, &logs[1].1));
        Self { chance, log, intent, erased }
    }

    /// The events of a server, with a key that the forger holds.
    fn of(real: &Log, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let key = SigningKey::new("placet.example/log", &chance.bytes()).unwrap();
        let log = Log { events: real.events.clone(), key, exported_at: real.exported_at.clone() };
        let mut by_intent = BTreeMap::<&str, Vec<usize>>::new();
        for (place, event) in log.events.iter().enumerate() {
            if let (true, Some(intent)) = (event.log().0 == "intent_id", event.log().1.as_str()) {
                by_intent.entry(intent).or_default().push(place);
            }
        }
        let notes = |places: &&Vec<usize>| {
            places.len() >= 8 && places[1..].iter().all(|place| log.events[*place].members["event_type"] == "comment")
        };
        let candidates: Vec<&Vec<usize>> = by_intent.values().filter(notes).collect();
        let intent = candidates[chance.place(candidates.len())].clone();
        let erased = by_intent.values().find(|places| log.events[places[0]].is_erased && places.len() > 3).unwrap()[2];
        Self { chance, log, intent, erased }
    }

    fn size(&self) -> usize {
        self.log.events.len()
    }

    fn whole(&self) -> Export {
        self.log.export(self.size(), None)
    }

    /// All of the server's log, one intent with a gap, and the log with the erased event.
    fn selection(&self) -> Export {
        let erased = self.log.events[self.erased].log();
        let is_selected = |place: &usize| {
            let event = &self.log.events[*place];
            event.is_of_server() || event.log() == erased || (self.intent.contains(place) && *place != self.intent[3])
        };
        let places: Vec<_> = (0..self.size()).filter(is_selected).collect();
        self.log.export(self.size(), Some(&places))
    }

    /// A place in the middle of an intent, with events of it before and behind.
    fn middle(&mut self) -> usize {
        self.intent[2 + self.chance.place(self.intent.len() - 4)]
    }

    /// The whole export with one event changed by `change`; its hash, its successors and the root stay.
    fn with(&mut self, change: impl Fn(&mut Value)) -> Export {
        let (place, mut export) = (self.middle(), self.whole());
        let line = &mut export.lines[place];
        let (mut event, hash) = (line.event(), self.log.events[place].hash.clone());
        change(&mut event);
        line.set_event(event, Some(&hash));
        export
    }

    /// The export of the log with an event changed by `change`. Everything that depends on it is computed anew, and signed with
    /// the log's own key.
    fn signed_anew(&mut self, change: impl Fn(&mut Members)) -> Export {
        let place = self.middle();
        let before = std::mem::take(&mut self.log.events[place].members);
        let mut members = before;
        change(&mut members);
        let follows = self.follow_anew(place, members);
        assert!(follows > 0, "the changed event has successors");
        self.whole()
    }

    /// Puts an event with these members at a place, and names the new hashes in the events behind it. Returns how many those are.
    fn follow_anew(&mut self, place: usize, members: Members) -> usize {
        self.log.events[place] = Event::new(members);
        let (mut hash, mut count) = (self.log.events[place].hash.clone(), 0);
        let log = self.log.events[place].members.get("intent_id").cloned();
        for event in self.log.events.iter_mut().skip(place + 1) {
            if event.members.get("intent_id").cloned() == log {
                event.members.insert("previous_event_hash".to_owned(), json!(hash));
                *event = Event::new(event.members.clone());
                hash.clone_from(&event.hash);
                count += 1;
            }
        }
        count
    }
}

/// Changes one letter or digit in the middle of a member's text to another of its kind.
fn flip(event: &mut Value, name: &str) {
    let text = event[name].as_str().unwrap().to_owned();
    // The middle of a time is a colon; the place before it is always a letter or a digit.
    let place = text.char_indices().map(|(place, _)| place).filter(|place| text.as_bytes()[*place].is_ascii_alphanumeric());
    let places: Vec<_> = place.collect();
    let place = places[places.len() / 2];
    let other = match text.as_bytes()[place] {
        b'0' => "1",
        b'1'..=b'9' => "0",
        b'a' => "b",
        _ => "a",
    };
    event[name] = json!([&text[..place], other, &text[place + 1..]].concat());
}

fn renumber(export: &mut Export) {
    (0_u64..).zip(&mut export.lines).for_each(|(leaf, line)| line.leaf = leaf);
}

/// Replaces the first `from` of a line.
fn replace(export: &Export, place: usize, from: &str, to: &str) -> String {
    let mut export = export.clone();
    let line = export.lines[place].text.replacen(from, to, 1);
    assert_ne!(line, export.lines[place].text, "{from} is replaced");
    export.lines[place].text = line;
    export.write_anew()
}

fn text() -> Vec<Kind> {
    vec![
        ("the file is empty", &["no_header"], |_| Vec::new().into()),
        ("the file is compressed", &["compressed"], |scene| {
            [b"\x1f\x8b\x08\0".as_slice(), scene.whole().write().as_bytes()].concat().into()
        }),
        ("a byte order mark is put before it", &["byte_order_mark"], |scene| format!("\u{feff}{}", scene.whole().write()).into()),
        ("lines end as on Windows", &["crlf"], |scene| scene.whole().write().replace('\n', "\r\n").into()),
        ("an empty line is put in", &["blank_line"], |scene| {
            scene.whole().write().replacen("\n{\"leaf\":7,", "\n\n{\"leaf\":7,", 1).into()
        }),
        ("a byte is no UTF-8", &["invalid_utf8"], |scene| {
            let mut bytes = scene.whole().write().into_bytes();
            let place = bytes.windows(5).rposition(|bytes| bytes == "caf\u{e9}".as_bytes()).unwrap();
            bytes[place] = 0xff;
            bytes.into()
        }),
        ("a byte is zero", &["not_json"], |scene| scene.whole().write().replacen("caf\u{e9}", "ca\0", 1).into()),
        ("a line is cut off in the middle", &["truncated_line"], |scene| {
            let text = scene.whole().write();
            text[..text.len() * 2 / 3].to_owned().into()
        }),
        ("the last line feed is missing", &["truncated_line"], |scene| scene.whole().write().trim_end().to_owned().into()),
        ("a line is longer than any line", &["line_too_long"], |scene| {
            scene.whole().write().replacen("caf\u{e9}", &"caf".repeat(1_500_000), 1).into()
        }),
        ("it is another file", &["no_header"], |_| "[1]\n{\"a\":2}\n".to_owned().into()),
        ("it is a text", &["not_json"], |_| "Dear auditor,\nall is well.\n".to_owned().into()),
        ("a value nests without end", &["not_json"], |scene| {
            let deep = format!("\"text\":{}{}", "[".repeat(50_000), "]".repeat(50_000));
            scene
                .whole()
                .write()
                .replacen("\"text\":null", &deep, 1)
                .replacen("\"rate\":0.25", &format!("\"rate\":0.25,{deep}"), 1)
                .into()
        }),
        ("a number is infinite", &["not_json"], |scene| scene.whole().write().replacen("0.25", "1e999", 1).into()),
        ("half of a character is escaped", &["not_json"], |scene| {
            scene.whole().write().replacen("caf\u{e9}", "ca\\ud83d", 1).into()
        }),
    ]
}

fn lines() -> Vec<Kind> {
    vec![
        ("two lines are swapped", &["leaf_gap", "leaf_order"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            export.lines.swap(place, place + 1);
            export.write_anew().into()
        }),
        ("a line is deleted", &["leaf_gap"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            export.lines.remove(place);
            export.write_anew().into()
        }),
        ("a line is deleted and the others are numbered anew", &["wrong_sequence"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            export.lines.remove(place);
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("a line is doubled", &["leaf_order"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            export.lines.insert(place, export.lines[place].clone());
            export.write_anew().into()
        }),
        ("a line is doubled and the others are numbered anew", &["wrong_sequence"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            export.lines.insert(place, export.lines[place].clone());
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("the last leaf is doubled", &["leaf_beyond"], |scene| {
            let mut export = scene.whole();
            export.lines.push(Line { leaf: scene.size() as u64, ..export.lines[scene.size() - 1].clone() });
            export.write_anew().into()
        }),
        ("the last leaf is doubled and the header counts it", &["size_differs"], |scene| {
            let mut export = scene.whole();
            export.lines.push(Line { leaf: scene.size() as u64, ..export.lines[scene.size() - 1].clone() });
            export.header.size += 1;
            export.write_anew().into()
        }),
        ("the tail is cut off with the manifest", &["no_manifest"], |scene| {
            let text = scene.whole().write();
            text.split_inclusive('\n').take(20).collect::<String>().into()
        }),
        ("the tail is cut off and the manifest made anew", &["events_missing"], |scene| {
            let mut export = scene.whole();
            export.lines.truncate(scene.size() - 3);
            export.write_anew().into()
        }),
        ("the first events are cut off", &["leaf_gap"], |scene| {
            let mut export = scene.whole();
            export.lines.drain(..5);
            export.write_anew().into()
        }),
        ("all events are cut off", &["events_missing"], |scene| {
            let mut export = scene.whole();
            export.lines.clear();
            export.write_anew().into()
        }),
        ("a line with two events in it", &["line_form"], |scene| {
            scene.whole().write().replacen("\"event\":{", "\"redacted\":{},\"event\":{", 1).into()
        }),
        ("a line is of no known kind", &["unknown_member"], |scene| {
            scene.whole().write().replacen("\n{\"leaf\":9,", "\n{\"note\":\"all is well\"}\n{\"leaf\":9,", 1).into()
        }),
        ("a leaf has no number", &["line_form"], |scene| {
            scene.whole().write().replacen("\"leaf\":9,", "\"leaf\":\"9\",", 1).into()
        }),
    ]
}

/// One member of an event is changed, and nothing else.
fn members() -> Vec<Kind> {
    vec![
        ("the actor is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "actor")).write_anew().into()),
        ("the time is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "created_at")).write_anew().into()),
        ("the type is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "event_type")).write_anew().into()),
        ("the id is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "id")).write_anew().into()),
        ("the intent is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "intent_id")).write_anew().into()),
        ("the link is changed", &["wrong_hash"], |scene| {
            scene.with(|event| flip(event, "previous_event_hash")).write_anew().into()
        }),
        ("the salt is changed", &["wrong_hash"], |scene| scene.with(|event| flip(event, "salt")).write_anew().into()),
        ("the number is changed", &["wrong_hash"], |scene| scene.with(|event| event["sequence"] = json!(77)).write_anew().into()),
        ("the payload is changed", &["wrong_hash"], |scene| {
            scene.with(|event| event["payload"]["amount"] = json!(1)).write_anew().into()
        }),
        ("the payload is removed", &["wrong_hash"], |scene| scene.with(|event| event["payload"] = json!({})).write_anew().into()),
        ("a truth is turned round", &["wrong_hash"], |scene| {
            scene.with(|event| event["payload"]["nested"]["list"][1] = json!(false)).write_anew().into()
        }),
        ("a number is one more", &["wrong_hash"], |scene| {
            scene.with(|event| event["payload"]["large"] = json!(9_007_199_254_740_991_u64)).write_anew().into()
        }),
        ("a number is one beyond 2^53", &["number_out_of_range"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "9007199254740990", "9007199254740993").into()
        }),
        ("a fraction is a little more", &["wrong_hash"], |scene| {
            scene.with(|event| event["payload"]["rate"] = json!(0.250_000_000_000_000_06)).write_anew().into()
        }),
        ("letters are taken apart (NFD)", &["wrong_hash"], |scene| {
            scene.with(|event| event["payload"]["text"] = json!("cafe\u{301} for mu\u{308}ller")).write_anew().into()
        }),
        ("the hash is changed", &["wrong_hash"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            let mut hash = json!({"hash": scene.log.events[place].hash});
            flip(&mut hash, "hash");
            let event = export.lines[place].event();
            export.lines[place].set_event(event, hash["hash"].as_str());
            export.write_anew().into()
        }),
        ("two hashes are swapped", &["wrong_hash"], |scene| {
            let (place, mut export) = (scene.intent[3], scene.whole());
            let (event, hash) = (export.lines[place].event(), scene.log.events[scene.intent[4]].hash.clone());
            export.lines[place].set_event(event, Some(&hash));
            export.write_anew().into()
        }),
        ("two salts are swapped", &["wrong_hash"], |scene| {
            let salt = scene.log.events[scene.intent[0]].members["salt"].clone();
            scene.with(|event| event["salt"] = salt.clone()).write_anew().into()
        }),
        ("two payloads are swapped", &["wrong_hash"], |scene| {
            let payload = scene.log.events[scene.intent[0]].members["payload"].clone();
            scene.with(|event| event["payload"] = payload.clone()).write_anew().into()
        }),
        ("a byte of the export is changed and the manifest stays", &["wrong_hash"], |scene| {
            scene.whole().write().replacen("caf\u{e9}", "cag\u{e9}", 1).into()
        }),
    ]
}

/// The form of an event is changed; its hash is right.
fn forms() -> Vec<Kind> {
    fn changed(scene: &mut Scene, name: &str, text: &str) -> Made {
        scene.signed_anew(|members| drop(members.insert(name.to_owned(), text.into()))).write_anew().into()
    }
    vec![
        ("a member is added", &["unknown_member"], |scene| changed(scene, "note", "approved")),
        ("a member is missing", &["event_form"], |scene| {
            scene.signed_anew(|members| drop(members.remove("actor"))).write_anew().into()
        }),
        ("the time has a zone", &["event_form"], |scene| changed(scene, "created_at", "2026-11-02T00:00:00.000000Z")),
        ("the day does not exist", &["event_form"], |scene| changed(scene, "created_at", "2026-11-42T00:00:00.000000")),
        ("the id has large letters", &["event_form"], |scene| changed(scene, "id", "01932F7A-05A1-7ABC-8DEF-0123456789AB")),
        ("the salt is too short", &["event_form"], |scene| changed(scene, "salt", "c2FsdA")),
        ("an event is in two logs", &["event_form"], |scene| {
            changed(scene, "portfolio_id", "01932f7a-05a1-7abc-8def-0123456789ab")
        }),
        ("the sequence is a text", &["event_form"], |scene| changed(scene, "sequence", "4")),
        ("the link is no hash", &["event_form"], |scene| changed(scene, "previous_event_hash", "sha512:AAAA")),
        ("the hash has spare bits", &["event_form"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            let event = export.lines[place].event();
            export.lines[place].set_event(event, Some(&format!("sha256:{}B", "A".repeat(42))));
            export.write_anew().into()
        }),
    ]
}

/// An event is written in another way than its one form.
fn writings() -> Vec<Kind> {
    vec![
        ("a space is put in", &["not_canonical"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "\"amount\":", "\"amount\": ").into()
        }),
        ("a letter is escaped", &["not_canonical"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "caf\u{e9}", "caf\\u00e9").into()
        }),
        ("a number is written in another way", &["not_canonical"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "0.25", "2.5e-1").into()
        }),
        ("zero has a sign", &["wrong_hash", "not_canonical"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "0.25", "-0").into()
        }),
        ("members are in another order", &["not_canonical"], |scene| {
            let place = scene.middle();
            replace(
                &scene.whole(),
                place,
                "[1,true,null,\"x\"],\"\u{1f600}\\\"\":1",
                "[1,true,null,\"x\"],\"\u{1f600}\\u0022\":1",
            )
            .into()
        }),
        ("the line has spaces", &["not_canonical"], |scene| {
            scene.whole().write().replacen("{\"leaf\":9,", "{\"leaf\": 9, ", 1).into()
        }),
        ("a member comes twice", &["duplicate_member"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "\"amount\":", "\"amount\":1,\"amount\":").into()
        }),
        ("a member comes twice, once escaped", &["duplicate_member"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "\"amount\":", "\"\\u0061mount\":1,\"amount\":").into()
        }),
        ("an event has two hashes", &["duplicate_member"], |scene| {
            let place = scene.middle();
            replace(&scene.whole(), place, "\"event_type\"", "\"event_hash\":\"x\",\"event_type\"").into()
        }),
        ("a leaf has two numbers", &["duplicate_member"], |scene| {
            scene.whole().write().replacen("{\"leaf\":9,", "{\"leaf\":9,\"leaf\":9,", 1).into()
        }),
        ("a number beyond 2^53 is sealed and signed", &["number_out_of_range"], |scene| {
            scene.signed_anew(|members| members["payload"]["large"] = json!(9_007_199_254_740_992_u64)).write_anew().into()
        }),
        ("a number below -2^53 is sealed and signed", &["number_out_of_range"], |scene| {
            scene.signed_anew(|members| members["payload"]["large"] = json!(-9_007_199_254_740_992_i64)).write_anew().into()
        }),
    ]
}

/// Events come in another order or number, and everything that depends on it was computed anew.
fn order() -> Vec<Kind> {
    vec![
        ("two events of one log are swapped", &["wrong_sequence"], |scene| {
            let (mut export, places) = (scene.whole(), (scene.intent[2], scene.intent[3]));
            export.lines.swap(places.0, places.1);
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("two events of different logs are swapped", &["root_differs"], |scene| {
            let (mut export, place) = (scene.whole(), scene.intent[2]);
            let other = if scene.intent.contains(&(place + 1)) { place - 1 } else { place + 1 };
            export.lines.swap(place, other);
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("an event is added at the end", &["leaf_beyond"], |scene| {
            let log = ("intent_id", scene.log.events[scene.intent[0]].members["intent_id"].clone());
            let (honest, payload) = (scene.whole().header, payload(&mut scene.chance));
            scene.log.append(&mut scene.chance, log, "answered", payload, 3_500_000_000);
            let mut export = scene.whole();
            export.header = honest;
            export.write_anew().into()
        }),
        ("an event is put in and the chain made anew", &["leaf_beyond"], |scene| {
            let (honest, place) = (scene.whole().header, scene.intent[3]);
            scene.log.events.insert(place, scene.log.events[scene.intent[2]].clone());
            scene.log.chain_anew();
            let mut export = scene.whole();
            export.header = honest;
            export.write_anew().into()
        }),
        ("an event is replaced and its chain made anew", &["root_differs"], |scene| {
            let honest = scene.whole().header;
            let mut export = scene.signed_anew(|members| members["payload"]["amount"] = json!(1));
            export.header = honest;
            export.write_anew().into()
        }),
        ("an event is replaced and sealed anew alone", &["wrong_previous"], |scene| {
            let (place, mut export) = (scene.middle(), scene.whole());
            let mut event = export.lines[place].event();
            event["payload"]["amount"] = json!(1);
            export.lines[place].set_event(event, None);
            export.write_anew().into()
        }),
        ("the last event of a log is replaced", &["root_differs"], |scene| {
            let (place, mut export) = (scene.intent[scene.intent.len() - 1], scene.whole());
            let mut event = export.lines[place].event();
            event["payload"]["amount"] = json!(1);
            export.lines[place].set_event(event, None);
            export.write_anew().into()
        }),
    ]
}

/// Events that the log's own key has signed break the rules of a log.
fn rules() -> Vec<Kind> {
    vec![
        ("the time is put back, sealed and signed", &["time_backwards"], |scene| {
            scene.signed_anew(|members| members["created_at"] = json!(LONG_AGO)).write_anew().into()
        }),
        ("the time is after the export, sealed and signed", &["time_after_export"], |scene| {
            scene.signed_anew(|members| members["created_at"] = json!("2027-01-01T00:00:00.000000")).write_anew().into()
        }),
        ("the chain begins anew in the middle", &["wrong_previous"], |scene| {
            scene.signed_anew(|members| members["previous_event_hash"] = Value::Null).write_anew().into()
        }),
        ("the numbers begin anew in the middle", &["wrong_sequence"], |scene| {
            scene
                .signed_anew(|members| (members["sequence"], members["previous_event_hash"]) = (json!(1), Value::Null))
                .write_anew()
                .into()
        }),
        ("a number is left out", &["wrong_sequence"], |scene| {
            scene
                .signed_anew(|members| members["sequence"] = json!(members["sequence"].as_u64().unwrap() + 1))
                .write_anew()
                .into()
        }),
        ("the number is zero", &["event_form"], |scene| {
            scene.signed_anew(|members| members["sequence"] = json!(0)).write_anew().into()
        }),
        ("an event is moved into another log", &["wrong_sequence", "wrong_previous"], |scene| {
            let own = &scene.log.events[scene.intent[0]].members["intent_id"];
            let mut others = scene.log.events.iter().filter_map(|event| event.members.get("intent_id"));
            let other = others.rfind(|other| *other != own).unwrap().clone();
            scene.signed_anew(|members| members["intent_id"] = other.clone());
            scene.whole().write_anew().into()
        }),
    ]
}

/// Whole logs.
fn logs() -> Vec<Kind> {
    vec![
        ("a log is left out", &["leaf_gap"], |scene| {
            let mut export = scene.whole();
            export.lines.retain(|line| !scene.intent.contains(&usize::try_from(line.leaf).unwrap()));
            export.write_anew().into()
        }),
        ("a log is left out and the others are numbered anew", &["events_missing"], |scene| {
            let mut export = scene.whole();
            export.lines.retain(|line| !scene.intent.contains(&usize::try_from(line.leaf).unwrap()));
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("the last event of a log is left out and the others are numbered anew", &["events_missing"], |scene| {
            let (mut export, place) = (scene.whole(), scene.intent[scene.intent.len() - 1]);
            export.lines.remove(place);
            renumber(&mut export);
            export.write_anew().into()
        }),
        ("a log is made up", &["leaf_beyond"], |scene| {
            let (honest, id) = (scene.whole().header, json!(scene.chance.id()));
            let payload = payload(&mut scene.chance);
            scene.log.append(&mut scene.chance, ("intent_id", id), "answered", payload, 3_500_000_000);
            let mut export = scene.whole();
            export.header = honest;
            export.write_anew().into()
        }),
        ("a log takes the place of another", &["root_differs"], |scene| {
            let (honest, id) = (scene.whole().header, json!(scene.chance.id()));
            scene
                .intent
                .iter()
                .for_each(|place| drop(scene.log.events[*place].members.insert("intent_id".to_owned(), id.clone())));
            scene.log.chain_anew();
            let mut export = scene.whole();
            export.header = honest;
            export.write_anew().into()
        }),
    ]
}
