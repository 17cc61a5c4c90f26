//! Counts the lines of an export, and compares the counts with the manifest.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::base::json;
use proof::checkpoint::TreeHead;
use serde_json::{Map, Value, json};

use crate::event::Hash32;
use crate::finding::{Code, Findings, Place};
use crate::header::Header;
use crate::line::LINE_BYTES_MAX;

const MEMBERS: [&str; 9] = ["events", "redacted", "first_leaf", "last_leaf", "by_type", "size", "root", "checkpoint", "sha256"];

/// The most types that are counted. Agents choose types, so a forger could make up as many as there are events.
const TYPES_MAX: usize = 100_000;

/// The counts of an export.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) redacted: u64,
    first_leaf: Option<u64>,
    last_leaf: Option<u64>,
    /// The number of events by the canonical text of their type.
    by_type: HashMap<Vec<u8>, u64>,
    by_type_bytes: usize,
    /// Whether there were too many types to count all of them.
    has_more_types: bool,
}

impl Tally {
    /// Counts a line of an event.
    pub(crate) fn count(&mut self, leaf: u64, is_erased: bool, event_type: &[u8]) {
        self.events += 1;
        self.redacted += u64::from(is_erased);
        self.first_leaf.get_or_insert(leaf);
        self.last_leaf = Some(leaf);
        if let Some(count) = self.by_type.get_mut(event_type) {
            *count += 1;
        } else if self.by_type.len() < TYPES_MAX && self.by_type_bytes < LINE_BYTES_MAX {
            self.by_type_bytes += event_type.len();
            self.by_type.insert(event_type.to_owned(), 1);
        } else {
            self.has_more_types = true;
        }
    }

    /// Whether the manifest's counts by type cannot be checked, because there are too many types.
    pub(crate) fn has_more_types(&self) -> bool {
        self.has_more_types
    }

    /// How many events about receipts there are.
    pub(crate) fn of_receipts(&self) -> u64 {
        let of_receipts = self.by_type.iter().filter(|(event_type, _)| event_type.starts_with(b"\"receipt."));
        of_receipts.map(|(_, count)| count).sum()
    }

    /// Compares a manifest with the counts, the header, and the hash of all bytes before it.
    pub(crate) fn check(&self, manifest: &Seen, header: &Header, head: Option<&TreeHead>, findings: &mut Findings) {
        let Seen { place, value, hash_before, has_lost } = manifest;
        let mut add = |code: Code, text: String| findings.add(*place, code, text);
        let outer = value.as_object().and_then(|members| members.keys().find(|name| *name != "manifest"));
        let inner = value.get("manifest").and_then(Value::as_object);
        let unknown = inner.and_then(|members| members.keys().find(|name| !MEMBERS.contains(&name.as_str())));
        if let Some(name) = outer.or(unknown) {
            add(Code::UnknownMember, format!("The manifest has the member \"{name}\", which the format does not know."));
        }
        let missing = MEMBERS.into_iter().find(|name| inner.is_none_or(|members| !members.contains_key(*name)));
        let (Some(inner), None) = (inner, missing) else {
            let name = missing.unwrap_or("manifest");
            return add(Code::ManifestForm, format!("The manifest's member \"{name}\" is missing."));
        };
        let differs = |name: &str, expected: &Value| json::canonical(&inner[name]).ok() != json::canonical(expected).ok();
        let root = head.map(|head| ("root", json!(STANDARD.encode(head.root))));
        let of_header = [("size", json!(header.size)), ("checkpoint", json!(header.checkpoint))];
        if let Some((name, _)) = of_header.into_iter().chain(root).find(|(name, expected)| differs(name, expected)) {
            add(Code::ManifestDiffers, format!("The manifest's member \"{name}\" is another one than the header's."));
        }
        if let Some((name, expected)) = self.expected().into_iter().find(|(name, expected)| !has_lost && differs(name, expected))
        {
            let expected = if expected.is_object() { String::new() } else { format!(", which is {expected}") };
            add(Code::ManifestCounts, format!("The manifest's member \"{name}\" does not say what the export has{expected}."));
        }
        let hash = hash_before.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        if differs("sha256", &json!(hash)) {
            let text = "The bytes before the manifest are not those that it was made for: the file was changed after the export.";
            add(Code::ManifestHash, text.to_owned());
        }
    }

    /// The counts that a manifest must have.
    fn expected(&self) -> Vec<(&'static str, Value)> {
        let name = |text: &[u8]| serde_json::from_slice::<String>(text).unwrap_or_default();
        let by_type: Map<_, _> = self.by_type.iter().map(|(text, count)| (name(text), json!(count))).collect();
        let mut expected = vec![
            ("events", json!(self.events)),
            ("redacted", json!(self.redacted)),
            ("first_leaf", json!(self.first_leaf)),
            ("last_leaf", json!(self.last_leaf)),
        ];
        if !self.has_more_types {
            expected.push(("by_type", Value::Object(by_type)));
        }
        expected
    }
}

/// A manifest that was read.
pub(crate) struct Seen {
    pub(crate) place: Place,
    pub(crate) value: Value,
    /// The hash of all bytes before its line.
    pub(crate) hash_before: Hash32,
    /// Whether a line before it could not be read, so that counts say nothing.
    pub(crate) has_lost: bool,
}
