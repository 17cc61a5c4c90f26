//! Answers that a passkey signed: the right ones, and those that the holder of the log made up without the passkey.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::ids::SuspensionId;
use domain::base::passkey::KnownPasskey;
use domain::base::sealed::Hash;
use domain::suspension::evidence::Evidence;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{ASKED_AT, Tale, World};

const DAN: &str = "dan@x.example";
const HOST: &str = "placet.example";
const RESUMED: &str = "intent.resumed";
/// The flags of an authenticator: a person was present, and was verified.
const BOTH: u8 = 5;
const EVIDENCE: Evidence = Evidence { action_digest: Hash([1; 32]), proposed_digest: None, presented_hash: Hash([2; 32]) };

/// A passkey (Ed25519). Another seed is another passkey; the id can be the same.
struct Passkey {
    pair: Ed25519KeyPair,
    id: &'static str,
}

impl Passkey {
    fn new(seed: u8, id: &'static str) -> Self {
        Self { pair: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(), id }
    }

    fn known(&self, person: &str) -> Value {
        let key = [&[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32][..], self.pair.public_key().as_ref()].concat();
        json!({"person": person, "credential_id": self.id, "public_key": URL_SAFE_NO_PAD.encode(key), "rp_id": HOST})
    }

    fn sign(&self, value: &Value, flags: u8) -> Value {
        let question = SuspensionId::parse(&Tale::Linked.question()).unwrap();
        let challenge = URL_SAFE_NO_PAD.encode(EVIDENCE.challenge(question, value).unwrap());
        let client = json!({"type": "webauthn.get", "challenge": challenge, "origin": format!("https://{HOST}")}).to_string();
        let data = [&Sha256::digest(HOST)[..], &[flags, 0, 0, 0, 1]].concat();
        let signed = [&data[..], &Sha256::digest(&client)].concat();
        json!({
            "credential_id": self.id, "authenticator_data": URL_SAFE_NO_PAD.encode(data),
            "client_data_json": URL_SAFE_NO_PAD.encode(client), "signature": URL_SAFE_NO_PAD.encode(self.pair.sign(&signed)),
        })
    }
}

fn own() -> Passkey {
    Passkey::new(1, "b3du")
}

fn added(world: &mut World, passkey: &Passkey, person: &str, at: u64) {
    let mut payload = passkey.known(person);
    (payload["person_id"], payload["algorithm"]) = (json!(world::id(0xf00)), json!(-8));
    world.add(("log", &json!("server")), person, at, "passkey.added", payload);
}

/// A world in which the question demands a passkey, and Dan's signs the answer.
fn signed_world() -> World {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("passkey");
    let answer = world.payload(Tale::Linked, RESUMED);
    (answer["assurance"], answer["assertion"]) = (json!("passkey"), own().sign(&json!("approve"), BOTH));
    (answer["action_digest"], answer["presented_hash"]) = (json!(EVIDENCE.action_digest), json!(EVIDENCE.presented_hash));
    world
}

fn registered_world() -> World {
    let mut world = signed_world();
    added(&mut world, &own(), DAN, 3);
    world
}

fn judge(world: &World, known: &[Value]) -> Report {
    let log = world.log();
    let known: Vec<KnownPasskey> = known.iter().map(|known| serde_json::from_value(known.clone()).unwrap()).collect();
    let options = Options { passkeys: known, ..Options::with_keys(vec![log.key.verifying().clone()]) };
    verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default())
}

fn remarks(report: &Report) -> Vec<&'static str> {
    report.not_checkable.iter().map(|remark| remark.code).filter(|code| code.starts_with("decisions")).collect()
}

fn found(report: &Report, code: &str, words: &str) {
    let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
    assert!(first.is_some_and(|(found, text)| found == code && text.contains(words)), "{words}: {first:?}");
}

#[test]
fn a_signature_is_checked_with_passkeys_known_beforehand_or_with_those_of_the_log() {
    let report = judge(&registered_world(), &[own().known("Dan@x.example")]);
    assert_eq!((report.verdict, remarks(&report)), (Verdict::Verified, vec![]), "{:#?}", report.findings);
    let report = judge(&registered_world(), &[]);
    assert_eq!(
        (report.verdict, remarks(&report)),
        (Verdict::Verified, vec!["decisions_passkey_of_log"]),
        "{:#?}",
        report.findings
    );
    // A passkey of another person that is known says nothing about this one.
    let report = judge(&registered_world(), &[Passkey::new(2, "b3RoZXI").known(DAN)]);
    assert_eq!((report.verdict, remarks(&report)), (Verdict::Verified, vec!["decisions_passkey_of_log"]));
}

/// Someone who holds the database, the key of the log and the program can seal all of these anew.
#[test]
fn an_answer_that_the_passkey_did_not_sign_is_found() {
    let forged = |forge: &dyn Fn(&mut Value)| {
        let mut world = registered_world();
        forge(world.payload(Tale::Linked, RESUMED));
        judge(&world, &[own().known(DAN)])
    };
    let invalid = "passkey_invalid";
    found(
        &forged(&|answer| (answer["value"], answer["choice_label"]) = (json!("deny"), json!("Deny"))),
        invalid,
        "signed something else",
    );
    found(&forged(&|answer| answer["action_digest"] = json!(Hash([3; 32]))), invalid, "signed something else");
    found(&forged(&|answer| answer["presented_hash"] = json!(Hash([3; 32]))), invalid, "signed something else");
    found(&forged(&|answer| answer["assertion"] = own().sign(&json!("approve"), 1)), invalid, "did not verify its user");
    found(&forged(&|answer| answer["assertion"] = own().sign(&json!("deny"), BOTH)), invalid, "signed something else");
    let stranger = Passkey::new(9, "b3du");
    found(&forged(&|answer| answer["assertion"] = stranger.sign(&json!("approve"), BOTH)), invalid, "signature is wrong");
    found(&forged(&|answer| drop(answer.as_object_mut().unwrap().remove("assertion"))), "passkey_missing", "no signature");
    let unsigned = |answer: &mut Value| {
        answer.as_object_mut().unwrap().remove("assertion");
        answer["assurance"] = json!("email_link");
    };
    found(&forged(&unsigned), "passkey_missing", "no signature");
    let other_person = judge(&registered_world(), &[own().known("eve@x.example")]);
    found(&other_person, invalid, "another person's");
}

/// A passkey that the forger registers in the log has another key than the one that was known under its id, or is named as unknown.
#[test]
fn a_registration_that_was_made_up_does_not_count_beside_a_known_passkey() {
    let forger = Passkey::new(9, "b3du");
    let mut world = signed_world();
    added(&mut world, &forger, DAN, 3);
    world.payload(Tale::Linked, RESUMED)["assertion"] = forger.sign(&json!("approve"), BOTH);
    found(&judge(&world, &[own().known(DAN)]), "passkey_invalid", "signature is wrong");
    let report = judge(&world, &[]);
    assert_eq!((report.verdict, remarks(&report)), (Verdict::Verified, vec!["decisions_passkey_of_log"]));
}

#[test]
fn a_passkey_counts_from_its_registration_to_its_removal() {
    let invalid = "passkey_invalid";
    found(&judge(&signed_world(), &[]), invalid, "does not know the passkey");
    let mut late = signed_world();
    added(&mut late, &own(), DAN, ASKED_AT + 100 + 301);
    found(&judge(&late, &[]), invalid, "not registered at that time");
    let mut in_time = signed_world();
    added(&mut in_time, &own(), DAN, ASKED_AT + 100 + 299);
    assert_eq!(judge(&in_time, &[]).verdict, Verdict::Verified, "clocks of servers differ");
    let mut removed = registered_world();
    let payload = json!({"person_id": world::id(0xf00), "person": DAN, "credential_id": "b3du"});
    removed.add(("log", &json!("server")), DAN, 4, "passkey.removed", payload);
    // The removal stands before the answer, in time and in the tree.
    let removal = removed.events.pop().unwrap();
    let registration = removed.events.pop().unwrap();
    let first = removed.place(Tale::Chosen, "intent_created");
    removed.events.splice(first..first, [registration, removal]);
    found(&judge(&removed, &[]), invalid, "not registered at that time");
    let mut others = signed_world();
    added(&mut others, &own(), "eve@x.example", 3);
    found(&judge(&others, &[]), invalid, "another person's");
}
