//! Makes honest logs and their exports, as a server would, from random events.
//!
//! Nothing here is shared with the verifier but the canonical form, the tree and the signatures.

pub(crate) mod tampering;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::base::json::canonical;
use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use proof::tree::{Growth, NodeHash, TilesInMemory, Tree, leaf_hash};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub(crate) type Members = Map<String, Value>;

/// The source of everything random in a log.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number from 0 to before `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end.max(1)
    }

    /// A place in a list of this length.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    pub(crate) fn id(&mut self) -> String {
        let hex = hex(&self.bytes::<16>());
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// A text of up to `chars` characters of all kinds that JSON writes in different ways.
    pub(crate) fn text(&mut self, chars: u64) -> String {
        const LETTERS: [char; 14] =
            ['a', 'Z', '0', ' ', '"', '\\', '/', '\n', '\u{1}', '\u{7f}', '\u{e9}', '\u{20ac}', '\u{fffd}', '\u{1f600}'];
        (0..self.below(chars + 1)).map(|_| LETTERS[self.place(LETTERS.len())]).collect()
    }

    fn number(&mut self) -> Value {
        const INTEGER_MAX: i64 = (1 << 53) - 1;
        match self.below(8) {
            0 => json!(INTEGER_MAX),
            1 => json!(-INTEGER_MAX),
            2 => json!(f64::from_bits(self.0.next_u64())).as_f64().map_or(json!(0), whole_or_in_range),
            3 => json!(f64::from(self.0.next_u32()) / 1000.0),
            4 => json!(0.1 / f64::from(self.0.next_u32())),
            _ => json!(self.below(100_000)),
        }
    }

    /// A JSON value of any kind.
    pub(crate) fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => self.number(),
            1 => json!(self.one_in(2)),
            2 => Value::Null,
            3 => json!(self.text(20)),
            4 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1).into(),
        }
    }

    fn object(&mut self, depth: u64) -> Members {
        (0..self.below(5)).map(|_| (self.text(6), self.value(depth))).collect()
    }
}

/// A number that an accepted request may have: a whole one lies within ±(2⁵³−1).
fn whole_or_in_range(number: f64) -> Value {
    if number.fract() == 0.0 { json!(1.5) } else { json!(number) }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Microseconds as an event writes a time.
pub(crate) fn time(micros: u64) -> String {
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let (minutes, second) = (seconds / 60, seconds % 60);
    let (hours, minute) = (minutes / 60, minutes % 60);
    // Days of one month are enough for a test.
    let (day, hour) = (hours / 24 % 28 + 1, hours % 24);
    format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")
}

pub(crate) fn hash_text(bytes: &[u8]) -> String {
    format!("sha256:{}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
}

/// One event of a log.
#[derive(Clone)]
pub(crate) struct Event {
    /// All members but the hash.
    pub(crate) members: Members,
    pub(crate) hash: String,
    pub(crate) is_erased: bool,
}

impl Event {
    /// Seals the members: the hash is that of their canonical form.
    pub(crate) fn new(members: Members) -> Self {
        let hash = hash_text(&canonical(&members).unwrap());
        Self { members, hash, is_erased: false }
    }

    pub(crate) fn leaf(&self) -> Vec<u8> {
        let mut leaf = self.members.clone();
        leaf.remove("payload");
        leaf.remove("salt");
        leaf.insert("event_hash".to_owned(), json!(self.hash));
        canonical(&leaf).unwrap()
    }

    /// The text of the event, with its hash as the last member.
    pub(crate) fn served(&self) -> String {
        let mut text = String::from_utf8(canonical(&self.members).unwrap()).unwrap();
        text.pop();
        format!("{text},\"event_hash\":\"{}\"}}", self.hash)
    }

    pub(crate) fn log(&self) -> (&'static str, &Value) {
        let name = ["intent_id", "portfolio_id", "log"].into_iter().find(|name| self.members.contains_key(*name)).unwrap();
        (name, &self.members[name])
    }

    pub(crate) fn is_of_server(&self) -> bool {
        self.members.contains_key("log")
    }
}

/// All events of a deployment in the order of their leaves, and the key that signs its checkpoints.
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    pub(crate) key: SigningKey,
    pub(crate) exported_at: String,
}

/// How large a log is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) events_max: u64,
    pub(crate) logs_max: u64,
    pub(crate) has_erasures: bool,
}

pub(crate) const SMALL: Shape = Shape { events_max: 60, logs_max: 8, has_erasures: true };

impl Log {
    /// A random log.
    pub(crate) fn random(chance: &mut Chance, shape: Shape) -> Self {
        let key = SigningKey::new(&format!("placet.example/{}", chance.below(1 << 40)), &chance.bytes()).unwrap();
        let mut logs = vec![("log", json!("server"))];
        for _ in 0..chance.below(shape.logs_max) {
            let kind = if chance.one_in(4) { "portfolio_id" } else { "intent_id" };
            logs.push((kind, json!(chance.id())));
        }
        let mut log = Self { events: Vec::new(), key, exported_at: String::new() };
        let mut micros = chance.below(1 << 40);
        for _ in 0..chance.below(shape.events_max + 1) {
            let (kind, id) = logs[chance.place(logs.len())].clone();
            // Events of one moment have the same time.
            micros += if chance.one_in(3) { 0 } else { chance.below(5_000_000) };
            let event_type = ["suspended", "resumed", "comment \"é\"", "intent_created", "😀"][chance.place(5)];
            let payload = chance.object(3);
            log.append(chance, (kind, id), event_type, payload, micros);
        }
        while shape.has_erasures && chance.one_in(2) && log.events.iter().any(|event| !event.is_of_server()) {
            let place = chance.place(log.events.len());
            log.erase(chance, place, micros);
        }
        log.exported_at = format!("{}Z", time(micros + chance.below(1_000_000)));
        log
    }

    /// The events of a whole export.
    pub(crate) fn read(export: &str) -> Self {
        let mut lines: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let exported_at = lines[0]["exported_at"].as_str().unwrap().to_owned();
        let event = |line: &mut Value| {
            let is_erased = line["redacted"].is_object();
            let Value::Object(mut members) = line[if is_erased { "redacted" } else { "event" }].take() else { return None };
            let hash = members.remove("event_hash")?.as_str()?.to_owned();
            Some(Event { members, hash, is_erased })
        };
        let events = lines.iter_mut().filter_map(event).collect();
        Self { events, key: SigningKey::new("placet.example/log", &[7; 32]).unwrap(), exported_at }
    }

    /// Adds an event at the end of a log.
    pub(crate) fn append(
        &mut self,
        chance: &mut Chance,
        log: (&'static str, Value),
        event_type: &str,
        payload: Members,
        micros: u64,
    ) {
        let before = self.events.iter().rev().find(|event| event.log() == (log.0, &log.1));
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        add("id", json!(chance.id()));
        add("actor", json!(format!("bot {}", chance.text(4))));
        add("created_at", json!(time(micros)));
        add("event_type", json!(event_type));
        add(log.0, log.1);
        add("payload", payload.into());
        add("previous_event_hash", before.map_or(Value::Null, |event| json!(event.hash)));
        add("salt", json!(URL_SAFE_NO_PAD.encode(chance.bytes::<32>())));
        add("sequence", json!(before.map_or(0, |event| event.members["sequence"].as_u64().unwrap()) + 1));
        for name in ["trace_id", "parent_event_id", "claimed_actor"] {
            if chance.one_in(5) {
                add(name, json!(chance.text(8)));
            }
        }
        self.events.push(Event::new(members));
    }

    /// Erases the payload of an event, and says so in the server's log.
    pub(crate) fn erase(&mut self, chance: &mut Chance, place: usize, micros: u64) {
        let event = &mut self.events[place];
        if event.log().0 != "intent_id" || event.is_erased {
            return;
        }
        event.is_erased = true;
        let (intent_id, sequence) = (&event.members["intent_id"], &event.members["sequence"]);
        let payload =
            json!({"intent_id": intent_id, "first_sequence": sequence, "last_sequence": sequence, "legal_basis": "GDPR 17"});
        self.append(chance, ("log", json!("server")), "payload.redacted", payload.as_object().unwrap().clone(), micros);
    }

    /// Seals all events anew, each with the hash of the one before it: what a forger of a whole log does.
    pub(crate) fn chain_anew(&mut self) {
        let mut ends: Vec<((&'static str, Value), String, u64)> = Vec::new();
        for event in &mut self.events {
            let log = event.log();
            let log = (log.0, log.1.clone());
            let end = ends.iter().position(|(other, ..)| *other == log);
            let (previous, sequence) = end.map_or((Value::Null, 1), |place| (json!(ends[place].1), ends[place].2 + 1));
            event.members.insert("previous_event_hash".to_owned(), previous);
            event.members.insert("sequence".to_owned(), json!(sequence));
            let is_erased = event.is_erased;
            *event = Event { is_erased, ..Event::new(event.members.clone()) };
            match end {
                Some(place) => (ends[place].1, ends[place].2) = (event.hash.clone(), sequence),
                None => ends.push((log, event.hash.clone(), sequence)),
            }
        }
    }

    fn tree(&self, size: usize) -> Tree<TilesInMemory> {
        let mut growth = Growth::begin(&mut TilesInMemory::new(), 0).unwrap();
        self.events[..size].iter().for_each(|event| growth.push(leaf_hash(&event.leaf())));
        Tree::new(growth.into_tiles(), size as u64)
    }

    pub(crate) fn root(&self, size: usize) -> NodeHash {
        self.tree(size).root().unwrap()
    }

    /// The checkpoint at a size.
    pub(crate) fn checkpoint(&self, size: usize) -> String {
        TreeHead::sign(size as u64, self.root(size), &self.key)
    }

    /// Exports the first `size` events, or those of them that `selected` chooses.
    pub(crate) fn export(&self, size: usize, selected: Option<&[usize]>) -> Export {
        let mut tree = self.tree(size);
        let places: Vec<usize> = selected.map_or((0..size).collect(), <[usize]>::to_vec);
        let mut lines = Vec::new();
        for place in places {
            let event = &self.events[place];
            let text = if event.is_erased { String::from_utf8(event.leaf()).unwrap() } else { event.served() };
            let mut line = Line { leaf: place as u64, is_erased: event.is_erased, text, proof: None };
            if selected.is_some() {
                let path = tree.inclusion(place as u64).unwrap().unwrap();
                line.proof = Some(path.iter().map(|hash| STANDARD.encode(hash)).collect());
            }
            lines.push(line);
        }
        let root = tree.root().unwrap();
        let header = Header {
            origin: self.key.verifying().name().to_owned(),
            key: self.key.verifying().to_string(),
            checkpoint: TreeHead::sign(size as u64, root, &self.key),
            size: size as u64,
            selection: if selected.is_some() { json!({"intent": "some"}) } else { Value::Null },
            exported_at: self.exported_at.clone(),
        };
        let mut export = Export { header, lines, manifest: Members::new() };
        export.manifest = export.honest_manifest();
        export
    }

    /// A random choice of events for a selection: all of the server's log, and some of others.
    pub(crate) fn choose(&self, chance: &mut Chance, size: usize) -> Vec<usize> {
        let share = chance.below(4) + 1;
        (0..size).filter(|place| self.events[*place].is_of_server() || chance.below(4) < share).collect()
    }
}

/// The header of an export.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) origin: String,
    pub(crate) key: String,
    pub(crate) checkpoint: String,
    pub(crate) size: u64,
    pub(crate) selection: Value,
    pub(crate) exported_at: String,
}

/// A line of an event.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) leaf: u64,
    pub(crate) is_erased: bool,
    /// The event or the leaf as it stands in the line.
    pub(crate) text: String,
    pub(crate) proof: Option<Vec<String>>,
}

impl Line {
    pub(crate) fn write(&self) -> String {
        let name = if self.is_erased { "redacted" } else { "event" };
        let proof = self.proof.as_ref().map(|proof| format!(",\"proof\":{}", json!(proof))).unwrap_or_default();
        format!("{{\"leaf\":{},\"{name}\":{}{proof}}}\n", self.leaf, self.text)
    }

    pub(crate) fn event(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Replaces the event by one with other members and their right hash, or with `hash`.
    pub(crate) fn set_event(&mut self, mut event: Value, hash: Option<&str>) {
        event.as_object_mut().unwrap().remove("event_hash");
        let mut sealed = Event::new(event.as_object().unwrap().clone());
        if let Some(hash) = hash {
            hash.clone_into(&mut sealed.hash);
        }
        self.text = sealed.served();
    }
}

/// An export, before it is written.
#[derive(Clone)]
pub(crate) struct Export {
    pub(crate) header: Header,
    pub(crate) lines: Vec<Line>,
    pub(crate) manifest: Members,
}

impl Export {
    /// All lines but the manifest.
    pub(crate) fn before_manifest(&self) -> String {
        let Header { origin, key, checkpoint, size, selection, exported_at } = &self.header;
        let header = json!({
            "placet_export": 1, "origin": origin, "key": key, "checkpoint": checkpoint, "size": size, "selection": selection,
            "exported_at": exported_at,
        });
        let mut text = format!("{header}\n");
        self.lines.iter().for_each(|line| text.push_str(&line.write()));
        text
    }

    /// The manifest for the lines as they are now.
    pub(crate) fn honest_manifest(&self) -> Members {
        let mut by_type = BTreeMap::<String, u64>::new();
        for line in &self.lines {
            if let Some(name) = line.event()["event_type"].as_str() {
                *by_type.entry(name.to_owned()).or_default() += 1;
            }
        }
        let root = TreeHead::read(&self.header.checkpoint).map(|head| STANDARD.encode(head.root)).unwrap_or_default();
        let sha256 = hex(&Sha256::digest(self.before_manifest()));
        let manifest = json!({
            "events": self.lines.len(), "redacted": self.lines.iter().filter(|line| line.is_erased).count(),
            "first_leaf": self.lines.first().map(|line| line.leaf), "last_leaf": self.lines.last().map(|line| line.leaf),
            "by_type": by_type, "size": self.header.size, "root": root, "checkpoint": self.header.checkpoint, "sha256": sha256,
        });
        manifest.as_object().unwrap().clone()
    }

    /// The text with the manifest as it is.
    pub(crate) fn write(&self) -> String {
        format!("{}{}\n", self.before_manifest(), json!({ "manifest": self.manifest }))
    }

    /// The text with a manifest that fits to the lines: what a forger writes.
    pub(crate) fn write_anew(&mut self) -> String {
        self.manifest = self.honest_manifest();
        self.write()
    }
}
