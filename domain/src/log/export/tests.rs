//! Every event, and hostile text in every place of one, through each format.

use serde_json::{Map, Value, json};

use super::{Format, cef, csv, ocsf};
use crate::base::json::canonical;
use crate::base::sealed::{Hash, Sealed};

const GOLDEN: [&str; 3] = [
    include_str!("../../../tests/golden.jsonl"),
    include_str!("../../../tests/golden_portfolio.jsonl"),
    include_str!("../../../tests/golden_server.jsonl"),
];

fn golden() -> Vec<Value> {
    GOLDEN.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The event as the server shows it after its payload was erased.
fn erased(event: &Value) -> Value {
    let mut leaf = event.as_object().unwrap().clone();
    leaf.remove("payload");
    leaf.remove("salt");
    let hash = Hash::parse(event["event_hash"].as_str().unwrap()).unwrap();
    let erased = Sealed { bytes: canonical(&leaf).unwrap(), hash };
    let served: Value = serde_json::from_str(&erased.served()).unwrap();
    assert_eq!((&served["payload"], &served["redacted"]), (&json!(null), &json!(true)));
    served
}

/// Reads records as RFC 4180 writes them, and refuses anything else.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        let mut record = Vec::new();
        loop {
            let mut field = String::new();
            if chars.next_if_eq(&'"').is_some() {
                while let Some(c) = chars.next() {
                    if c == '"' && chars.next_if_eq(&'"').is_none() {
                        break;
                    }
                    field.push(c);
                }
            } else {
                while let Some(c) = chars.next_if(|c| !matches!(c, ',' | '\r' | '\n' | '"')) {
                    field.push(c);
                }
            }
            record.push(field);
            match chars.next() {
                Some(',') => {}
                Some('\r') if chars.next() == Some('\n') => break,
                other => panic!("{other:?} after a field"),
            }
        }
        records.push(record);
    }
    records
}

/// The unescaped fields of the header and the members of the extension of a CEF line.
fn read_cef(line: &str) -> (Vec<String>, Map<String, Value>) {
    let mut header = vec![String::new()];
    let mut chars = line.chars();
    while header.len() < 8 {
        match chars.next().unwrap() {
            '|' => header.push(String::new()),
            '\\' => header.last_mut().unwrap().push(chars.next().filter(|c| matches!(c, '\\' | '|')).unwrap()),
            c => header.last_mut().unwrap().push(c),
        }
    }
    let (mut members, mut key, mut text) = (Map::new(), None::<String>, String::new());
    let mut end = |key: Option<String>, value: &str| {
        if let Some(key) = key {
            assert_eq!(members.insert(key, json!(value)), None, "a key twice in {line}");
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(match chars.next().unwrap() {
                'n' => '\n',
                'r' => '\r',
                c @ ('\\' | '=') => c,
                c => panic!("escaped {c:?}"),
            }),
            '=' => {
                let (value, next) = text.rsplit_once(' ').unwrap_or(("", &text));
                end(key.replace(next.to_owned()), value);
                text.clear();
            }
            c => text.push(c),
        }
    }
    end(key, &text);
    (header, members)
}

const CEF_KEYS: [&str; 21] = [
    "cat",
    "cn1",
    "cn1Label",
    "cn2",
    "cn2Label",
    "cs1",
    "cs1Label",
    "cs2",
    "cs2Label",
    "cs3",
    "cs3Label",
    "cs4",
    "cs4Label",
    "cs5",
    "cs5Label",
    "cs6",
    "cs6Label",
    "externalId",
    "msg",
    "outcome",
    "rt",
];

/// One line for a reader that counts every line end that Unicode knows, and nothing that hides or reorders.
fn assert_one_line(line: &str) {
    let body = line.strip_suffix('\n').unwrap();
    assert_eq!(body.chars().find(|c| super::is_unsafe(*c)), None, "{body}");
}

/// Whether a spreadsheet would take the cell for a formula.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['\t', '\r', '\n']) || cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Checks what holds for every event, and returns the record of each format.
fn records(leaf: u64, event: &Value) -> (Vec<String>, Value, Map<String, Value>) {
    let table = format!("{}{}", csv::HEADER, csv::line(leaf, event));
    let mut rows = read_csv(&table);
    assert_eq!(rows.len(), 2, "{table}");
    let row = rows.pop().unwrap();
    assert_eq!((row.len(), rows[0].len()), (14, 14), "{table}");
    assert_eq!(row.iter().find(|cell| is_formula(cell)), None);
    assert_eq!(row[0], leaf.to_string());
    // With other separators, no cell is a formula either.
    for cell in table.split([';', '\t', '\n', '\r']) {
        assert!(!is_formula(cell.trim_start_matches(['"', ' '])), "{cell}");
    }

    let line = ocsf::line(leaf, event);
    assert_one_line(&line);
    let record: Value = serde_json::from_str(&line).unwrap();
    let (class, activity) = (record["class_uid"].as_u64().unwrap(), record["activity_id"].as_u64().unwrap());
    assert_eq!(record["category_uid"], class / 1000);
    assert_eq!(record["type_uid"], class * 100 + activity);
    assert_eq!(record["metadata"]["version"], "1.8.0");
    for name in ["severity_id", "time"] {
        assert!(record[name].is_u64(), "{name} of {line}");
    }
    for name in if class == 6003 { ["actor", "api", "src_endpoint"] } else { ["actor", "entity", "metadata"] } {
        assert!(record[name].as_object().is_some_and(|object| !object.is_empty()), "{name} of {line}");
    }
    assert_eq!(record["unmapped"]["leaf"], leaf);

    let line = cef::line(leaf, event);
    assert_one_line(&line);
    let (header, members) = read_cef(line.trim_end_matches('\n'));
    assert_eq!(header[..4], ["CEF:0", "Placet", "Placet", env!("CARGO_PKG_VERSION")]);
    assert_eq!((header.len(), header[7].as_str()), (8, ""));
    assert_eq!(members.keys().find(|key| !CEF_KEYS.contains(&key.as_str()) && *key != "suser"), None, "{line}");
    assert_eq!(members["cn1"], leaf.to_string());
    (row, record, members)
}

#[test]
fn every_golden_event_has_a_record_in_each_format_also_if_it_was_erased() {
    let events = golden();
    assert!(events.len() > 170);
    for (leaf, event) in (0..).zip(&events) {
        let (row, record, members) = records(leaf, event);
        assert_eq!(row[5], event["event_type"].as_str().unwrap());
        assert_eq!(row[12], event["event_hash"].as_str().unwrap());
        assert_eq!(serde_json::from_str::<Value>(&row[13]).unwrap(), event["payload"]);
        let raw = record["raw_data"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(raw).unwrap(), event["payload"]);
        assert_eq!(record["metadata"]["uid"], event["id"]);
        assert_eq!((&members["cs6"], &members["externalId"]), (&event["event_hash"], &event["id"]));

        let (row, record, members) = records(leaf, &erased(event));
        // A denial must not pass for another answer: whether the payload named a decision is not known any more.
        assert_eq!((row[7..12].concat().as_str(), row[13].as_str()), ("", ""));
        assert_eq!((record.get("raw_data"), &record["unmapped"]["payload_erased"]), (None, &json!(true)));
        assert_eq!(["question", "response", "responded_by", "resolution"].map(|name| record["unmapped"].get(name)), [None; 4]);
        assert_eq!(&members["cs6"], &event["event_hash"]);
        assert_eq!(["cs1", "cs3", "cs4", "cs5"].map(|key| members.get(key)), [None; 4]);
    }
}

#[test]
fn an_answer_says_who_answered_what() {
    let event = golden().into_iter().find(|event| event["event_type"] == "governance.approval_granted").unwrap();
    let (row, record, members) = records(3, &event);
    assert_eq!(row[1], "2026-11-24T08:01:00.000042Z");
    assert_eq!((row[2].as_str(), row[11].as_str()), ("intent", "approved"));
    assert_eq!(row[10], event["payload"]["responded_by"].as_str().unwrap());
    assert_eq!((&record["class_uid"], &record["activity_id"], &record["status_id"]), (&json!(6003), &json!(3), &json!(1)));
    assert_eq!(record["time"], 1_795_507_260_000_u64);
    assert_eq!((&members["cs4"], &members["rt"]), (&event["payload"]["responded_by"], &json!("1795507260000")));
}

#[test]
fn keys_are_managed_entities() {
    for event in golden() {
        let event_type = event["event_type"].as_str().unwrap();
        let activity = match event_type {
            "key.created" | "key.imported" | "log_key.added" => 1,
            "key.recorded" => 6,
            "key.revoked" => 4,
            _ => continue,
        };
        let (row, record, _) = records(0, &event);
        assert_eq!((row[2].as_str(), row[3].as_str()), ("server", ""));
        assert_eq!((&record["class_uid"], &record["activity_id"]), (&json!(3004), &json!(activity)), "{event_type}");
        assert_eq!(record["entity"]["name"], if event_type == "log_key.added" { "example.com/log" } else { "pager \"night\"" });
    }
}

/// An agent that appends an event with the members of an answer must not get a row that looks like the answer of a person.
#[test]
fn an_event_of_a_client_fills_no_column_of_an_answer() {
    let payload = json!({"suspension_id": "s", "question": "q", "value": "yes", "responded_by": "alice", "decision": "approved"});
    for event_type in ["comment", "x.intent.resumed", "tool_call_x", "some.type.of.tomorrow", ""] {
        let event = json!({"event_type": event_type, "payload": payload});
        let (row, record, members) = records(0, &event);
        assert_eq!(row[7..12], ["", "", "", "", ""]);
        assert_eq!(record["metadata"].get("correlation_uid"), None);
        assert_eq!(record["unmapped"], json!({"leaf": 0, "event_hash": "", "payload_erased": false}));
        assert!(!["cs1", "cs3", "cs4", "cs5"].iter().any(|key| members.contains_key(*key)));
        assert_eq!(serde_json::from_str::<Value>(&row[13]).unwrap(), payload);
    }
}

/// The server writes these events, but their reason is a text of the caller. It must not look like a decision.
#[test]
fn the_reason_of_a_caller_is_no_resolution() {
    for (event_type, expected) in [
        ("status_changed", ""),
        ("hold.placed", ""),
        ("lifecycle.paused", ""),
        ("task.cancelled", ""),
        ("intent.suspension_cancelled", "withdrawn"),
        ("intent.suspension_extended", "request"),
        ("intent.resumed", "responded"),
    ] {
        let golden = golden().into_iter().filter(|event| event["event_type"] == event_type);
        let is_expected = |event: &Value| {
            let word = ["resolution_reason", "cause"].iter().find_map(|name| event["payload"][*name].as_str());
            word.is_none_or(|word| word == expected)
        };
        let mut event = golden.into_iter().find(is_expected).unwrap();
        event["payload"]["reason"] = json!("approved");
        let (row, record, members) = records(0, &event);
        assert_eq!(row[11], expected, "{event_type}");
        let given = Some(expected).filter(|expected| !expected.is_empty()).map(|expected| json!(expected));
        assert_eq!((record["unmapped"].get("resolution"), members.get("cs5")), (given.as_ref(), given.as_ref()), "{event_type}");
    }
}

#[test]
fn what_is_no_event_still_is_one_record() {
    for event in [json!(null), json!([]), json!({}), json!({"event_type": 1, "payload": "=1", "sequence": -1, "created_at": "x"})]
    {
        records(u64::MAX >> 11, &event);
    }
}

const HOSTILE: [&str; 20] = [
    "\r\n",
    "\n=cmd|' /C calc'!A0",
    "\r",
    "\0",
    "\u{202e}gnp.exe",
    "\u{2028}x\u{2029}\u{85}\u{b}\u{c}\u{1c}",
    "=1+1",
    " @SUM(1)",
    "＝1",
    "a;=1",
    "a\t+1",
    "\"",
    "\",\"=1\",\"",
    "\"\r\n0,=1",
    "|CEF:0|a|b|",
    "\\",
    " cs4=boss msg=x",
    "\\n\\=\\\\=",
    "',-",
    "\u{feff}\u{200b}=1 \u{e0001}",
];

/// Hostile text in every place that holds a text, each alone and all combined, up to 64 KiB.
#[test]
fn hostile_text_stays_in_its_record_and_field() {
    let question = golden().into_iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
    let answer = golden().into_iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
    let key = golden().into_iter().find(|event| event["event_type"] == "key.created").unwrap();
    let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    for (at, first) in HOSTILE.iter().enumerate() {
        texts.extend(HOSTILE[at..].iter().map(|second| [*first, *second, *first].concat()));
    }
    texts.push(HOSTILE.concat().repeat(64 * 1024 / HOSTILE.concat().len() + 1));
    texts.push("\n".repeat(64 * 1024));
    texts.push("=".repeat(64 * 1024));
    // Each short text in every event, and each of the combined and long texts in one of them.
    let events = [&question, &answer, &key];
    for (at, text) in texts.iter().enumerate() {
        let every = if at < HOSTILE.len() { 1 } else { 3 };
        for event in events.iter().skip(at % every).step_by(every) {
            let mut event = (*event).clone();
            let hostile = json!(text);
            for name in ["actor", "event_hash", "id"] {
                event[name] = hostile.clone();
            }
            let names = ["question", "value", "responded_by", "suspension_id", "decision", "name", "key_id", text.as_str()];
            for name in names {
                event["payload"][name] = hostile.clone();
            }
            let (row, record, _) = records(1, &event);
            // A longer payload is cut, and one with a semicolon may have apostrophes.
            if text.len() < 3_000 && !text.contains(';') {
                assert_eq!(serde_json::from_str::<Value>(&row[13]).unwrap(), event["payload"]);
            }
            assert_eq!(serde_json::from_str::<Value>(record["raw_data"].as_str().unwrap()).unwrap(), event["payload"]);
            assert_eq!(record["actor"]["user"]["name"], hostile);
            event["event_type"] = hostile.clone();
            event["intent_id"] = hostile.clone();
            event["created_at"] = hostile;
            records(1, &event);
        }
    }
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.as_str()), Some(format));
        assert!(format.file_ending().ends_with(|c: char| c.is_ascii_lowercase()));
        assert!(format.content_type().contains('/'));
    }
    for name in ["", "JSONL", "csv ", "xml"] {
        assert_eq!(Format::parse(name), None);
    }
}
