//! Prints random decision receipts, one JSON object a line, for a verifier of another author: `tests/scitt/run`.
//!
//! The arguments are the number of receipts and a seed. Each line has a whole event, its leaf, and the bytes of the statement, of
//! the receipt and of both together. The trees have 2 to 4096 leaves, but the first and each fortieth after it have 2^17.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use domain::base::json::canonical;
use domain::base::sealed::{Hash, Sealed};
use proof::key::SigningKey;
use proof::receipt::{Inclusion, Statement, receipt, transparent, verify_cose};
use proof::tree::{Growth, TilesInMemory, Tree, leaf_hash};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

/// The most receipts of one tree.
const RECEIPTS_PER_TREE: usize = 50;

/// One answered question: its statement, and the event that carries the statement's hash.
struct Decision {
    subject: String,
    content: Vec<u8>,
    statement: Statement,
    event: Sealed,
    leaf: Vec<u8>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// A number from 0 to before `end`.
fn below(random: &mut ChaCha8Rng, end: u64) -> u64 {
    random.next_u64() % end
}

fn id(random: &mut ChaCha8Rng) -> String {
    let mut bytes = [0; 16];
    random.fill_bytes(&mut bytes);
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A text of up to `chars` characters of one to four bytes.
fn text(random: &mut ChaCha8Rng, chars: u64) -> String {
    let letters = ['a', 'Z', '"', '\\', '\n', ' ', '\u{e4}', '\u{20ac}', '\u{1f600}', '\u{0}'];
    (0..below(random, chars)).map(|_| letters[random.next_u32() as usize % letters.len()]).collect()
}

fn decision(random: &mut ChaCha8Rng, key: &SigningKey, index: u64) -> Result<Decision, Box<dyn Error>> {
    let (subject, intent) = (id(random), id(random));
    let length = [10, 100, 2_000][random.next_u32() as usize % 3];
    let content = canonical(&json!({
        "intent_id": intent, "suspension_id": subject, "question": text(random, length), "value": below(random, 2) == 0,
        "responded_by": "a@example.com",
    }))?;
    let statement = Statement::sign(&content, &subject, key)?;
    let event = canonical(&json!({
        "actor": "a@example.com", "created_at": "2026-11-25T10:00:00.000000", "event_type": "intent.resumed", "id": id(random),
        "intent_id": intent, "payload": {"statement_hash": statement.hash().to_string(), "suspension_id": subject},
        "previous_event_hash": Value::Null, "salt": id(random), "sequence": index + 1,
    }))?;
    let event = Sealed { hash: Hash::of(&event), bytes: event };
    let leaf = proof::leaf::of(&event).ok_or("an event is not canonical")?;
    Ok(Decision { subject, content, statement, event, leaf })
}

/// Puts decisions at random places of a tree, and prints a receipt of each in a tree that has at least that leaf.
fn print(random: &mut ChaCha8Rng, out: &mut impl Write, number: usize, receipts: usize) -> Result<(), Box<dyn Error>> {
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    let key = SigningKey::new(&format!("{}.example/log", id(random)), &seed)?;
    let height = if number.is_multiple_of(40) { 17 } else { 1 + below(random, 12) };
    let leaves = 2 + below(random, (1 << height) - 1);
    let leaves = if height == 17 { 1 << 17 } else { leaves };
    let mut decisions = BTreeMap::new();
    for _ in 0..receipts {
        let index = below(random, leaves);
        decisions.insert(index, decision(random, &key, index)?);
    }
    let mut growth = Growth::begin(&mut TilesInMemory::new(), 0)?;
    for index in 0..leaves {
        let mut other = [0; 32];
        random.fill_bytes(&mut other);
        growth.push(decisions.get(&index).map_or(other, |decision| leaf_hash(&decision.leaf)));
    }
    let kept = growth.into_tiles();
    let places: Vec<u64> = decisions.keys().copied().collect();
    for turn in 0..receipts {
        let index = places[turn % places.len()];
        let decision = &decisions[&index];
        let smallest = (index + 1).max(2);
        let size = smallest + below(random, leaves + 1 - smallest);
        let mut tree = Tree::new(kept.clone(), size);
        let inclusion = Inclusion { size, index, path: tree.inclusion(index)??, root: tree.root()? };
        let receipt = receipt(&decision.subject, &decision.leaf, &inclusion, &key)?;
        let transparent = transparent(decision.statement.bytes(), &receipt)?;
        verify_cose(&transparent, &decision.leaf, &[key.verifying().clone()])?;
        let line = json!({
            "origin": key.verifying().name(), "public_key": hex(&key.verifying().public()), "kid": hex(&key.verifying().hash()),
            "subject": decision.subject, "content": hex(&decision.content), "statement": hex(decision.statement.bytes()),
            "receipt": hex(&receipt), "transparent": hex(&transparent), "event": hex(&decision.event.bytes),
            "leaf": hex(&decision.leaf), "size": size, "index": index, "root": hex(&inclusion.root),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers = std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<Vec<u64>, _>>()?;
    let [count, seed] = numbers[..] else { return Err("usage: receipts COUNT SEED".into()) };
    let (mut random, mut left) = (ChaCha8Rng::seed_from_u64(seed), usize::try_from(count)?);
    let mut out = std::io::stdout().lock();
    for number in 0.. {
        let receipts = left.min(RECEIPTS_PER_TREE);
        if receipts == 0 {
            break;
        }
        print(&mut random, &mut out, number, receipts)?;
        left -= receipts;
    }
    Ok(out.flush()?)
}
