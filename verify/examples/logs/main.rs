//! Writes exports for `tests/verifier/run` and for measurements.
//!
//! ```text
//! logs tampered FOLDER SEED [EXPORT] one case of each kind of tampering, done to the events of an export
//! logs honest FOLDER SEED COUNT      honest logs, each as a whole export, as a selection, and beside an older export
//! logs mutated FOLDER SEED COUNT     honest exports with a few bytes changed at random
//! logs large FILE EVENTS LOGS        one whole export with events of about 1 KB, and its key on standard output
//! logs decisions FILE EVENTS LOGS    the same, in which each event is a request for approval or the answer to one
//! ```
//!
//! The first three write a file `cases.jsonl`: `{"name", "files", "keys", "kept", "expected"}` on each line.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool of the tests ends when it cannot go on")]

#[path = "../../tests/forge/mod.rs"]
mod forge;
mod large;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use forge::tampering::{Case, cases};
use forge::{Chance, Log, SMALL};
use large::{Contents, large};
use serde_json::json;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).map_or(0, |text| text.parse::<u64>().expect("a number"));
    let Some(target) = arguments.get(1).map(Path::new) else {
        panic!("logs tampered|honest|mutated|large|decisions FOLDER|FILE NUMBER…")
    };
    match arguments[0].as_str() {
        "tampered" => {
            let real = arguments.get(3).map(|file| Log::read(&std::fs::read_to_string(file).unwrap()));
            write(target, cases(number(2), real.as_ref()));
        }
        "honest" => write(target, (0..number(3)).flat_map(|place| honest(number(2) + place))),
        "mutated" => write(target, (0..number(3)).map(|place| mutated(number(2) + place))),
        name @ ("large" | "decisions") => {
            let contents = if name == "large" { Contents::Notes } else { Contents::Decisions };
            println!("{}", large(BufWriter::new(File::create(target).unwrap()), number(2), number(3).max(1), contents));
        }
        other => panic!("{other} is none of tampered, honest, mutated, large, decisions"),
    }
}

/// Writes the files of all cases into the folder, and the list of the cases.
fn write(folder: &Path, cases: impl IntoIterator<Item = Case>) {
    std::fs::create_dir_all(folder).unwrap();
    let mut list = BufWriter::new(File::create(folder.join("cases.jsonl")).unwrap());
    for (number, case) in cases.into_iter().enumerate() {
        let place = |what: &str, part: usize| folder.join(format!("{number}-{what}-{part}")).display().to_string();
        let write = |what: &str, parts: Vec<&[u8]>| -> Vec<String> {
            let names: Vec<_> = (0..parts.len()).map(|part| place(what, part)).collect();
            names.iter().zip(parts).for_each(|(name, bytes)| std::fs::write(name, bytes).unwrap());
            names
        };
        let files = write("export.jsonl", case.files.iter().map(Vec::as_slice).collect());
        let kept = write("checkpoint", case.kept.iter().map(String::as_bytes).collect());
        let line = json!({"name": case.name, "files": files, "keys": case.keys, "kept": kept, "expected": case.expected});
        writeln!(list, "{line}").unwrap();
    }
}

/// One honest log: the whole export with an older checkpoint, a selection, and two exports with a checkpoint that is newer than one.
fn honest(seed: u64) -> Vec<Case> {
    let mut chance = Chance::new(seed);
    let log = Log::random(&mut chance, SMALL);
    let size = log.events.len();
    let case = |name, files: Vec<String>, kept| Case {
        name,
        files: files.into_iter().map(String::into_bytes).collect(),
        keys: vec![log.key.verifying().to_string()],
        kept,
        expected: &[],
    };
    let older = log.checkpoint(chance.place(size + 1));
    let chosen = log.choose(&mut chance, size);
    let mut cases = vec![
        case("a whole export", vec![log.export(size, None).write()], vec![older]),
        case("a selection", vec![log.export(size, Some(&chosen)).write()], Vec::new()),
    ];
    // An older export could show an event as erased that was erased later, which no server exports.
    if size > 1 && log.events.iter().all(|event| !event.is_erased) {
        let old = 1 + chance.place(size - 1);
        let between = log.checkpoint(old + 1 + chance.place(size - old));
        let files = vec![log.export(old, None).write(), log.export(size, None).write()];
        cases.push(case("an older export, a newer one, and a checkpoint between them", files, vec![between]));
    }
    cases
}

/// An honest export of which some bytes are changed, removed, doubled or moved.
fn mutated(seed: u64) -> Case {
    let mut case = honest(seed).swap_remove(usize::from(seed.is_multiple_of(2)));
    let (mut chance, honest) = (Chance::new(!seed), case.files[0].clone());
    while case.files[0] == honest {
        mutate(&mut chance, &mut case.files[0]);
    }
    Case { name: "changed at random", ..case }
}

fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let place = chance.place(bytes.len());
    match chance.below(6) {
        0 => drop(bytes.remove(place)),
        1 => bytes.insert(place, b"\"\\{}[]:, 019eE+-.\n\r\x00a"[chance.place(21)]),
        2 => bytes[place] = b"\"\\{}[]:, 019eE+-.\n\r\x00a"[chance.place(21)],
        3 => bytes[place] ^= 1 << chance.below(8),
        4 => {
            let end = (place + 1 + chance.place(200)).min(bytes.len());
            let copied = bytes[place..end].to_vec();
            bytes.splice(place..place, copied);
        }
        _ => {
            let end = (place + 1 + chance.place(200)).min(bytes.len());
            bytes.drain(place..end);
        }
    }
}
