//! The key of the log is replaced: the old key names the new one, servers follow, and what the old key signed stays checkable.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::base::ids::IntentId;
use domain::base::json::canonical;
use domain::base::sealed::{Hash, Sealed};
use domain::people::principal::Role;
use harness::app::TestApp;
use harness::{on_each_store, rows};
use placet::{Client, LogError};
use placet_server::log::key::rotate;
use proof::checkpoint::TreeHead;
use proof::key::{KeyFile, SigningKey, VerifyingKey};
use proof::leaf;
use proof::receipt::{FileError, LogKeys, ReceiptError, Statement, parts, verify_cose, verify_file};
use proof::succession::{Succession, successors};
use proof::tree::leaf_hash;
use serde_json::{Value, json};
use store::audit::Sealing;
use store::host::account;
use store::host::clock::SystemEntropy;
use verify::report::{Report, Verdict};
use verify::{Options, Watchers};

fn key(app: &TestApp) -> VerifyingKey {
    app.checkpoints().key().unwrap().verifying().clone()
}

fn key_file(app: &TestApp) -> PathBuf {
    app.folder().join("log-key")
}

async fn replaced(app: &TestApp, next: Option<&PathBuf>) -> anyhow::Result<Succession> {
    let file = key_file(app);
    let files = (Some(file.as_path()), next.map(PathBuf::as_path));
    rotate(&*app.store(), account::principal(), files, &SystemEntropy).await
}

/// A key file that an operator made.
fn given(app: &TestApp, name: &str, seed: u8) -> (PathBuf, VerifyingKey) {
    let key = SigningKey::new(name, &[seed; 32]).unwrap().verifying().clone();
    let hash = key.to_string().split('+').nth(1).unwrap().to_owned();
    let path = app.folder().join(format!("given-{seed}"));
    std::fs::write(&path, format!("PRIVATE+KEY+{name}+{hash}+{}\n", STANDARD.encode([&[1], &[seed; 32][..]].concat()))).unwrap();
    (path, key)
}

async fn answered(app: &TestApp) -> (IntentId, String) {
    let (intent, suspension) = app.ask(json!({})).await;
    app.operator().respond(intent, &suspension, "approve").await.ok();
    (intent, suspension)
}

/// The signed note of the newest checkpoint, which is made now.
async fn note(app: &TestApp) -> String {
    let checkpoint = app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await;
    assert_eq!(checkpoint.status, 201, "{:?}", checkpoint.body);
    checkpoint.body["note"].as_str().unwrap().to_owned()
}

async fn export(app: &TestApp, query: &str) -> String {
    let reply = app.api(Role::Auditor).get(&format!("api/v1/export?{query}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

fn verified(export: &str, key: &VerifyingKey) -> Report {
    verify::verify("export", export.as_bytes(), &Options::with_keys(vec![key.clone()]), Watchers::default())
}

fn warnings(report: &Report) -> Vec<&str> {
    report.warnings.iter().map(|warning| warning.code).collect()
}

fn header(export: &str) -> Value {
    serde_json::from_str(export.lines().next().unwrap()).unwrap()
}

/// A receipt of another answer, made with a stolen key of the log alone: its statement, its event, a tree with that event, its checkpoint.
fn forged(receipt: &Value, stolen: &SigningKey) -> Value {
    let mut forged = receipt.clone();
    forged["decision"]["value"] = json!("deny");
    let subject = forged["decision"]["suspension_id"].as_str().unwrap();
    let statement = Statement::sign(&canonical(&forged["decision"]).unwrap(), subject, stolen).unwrap();
    forged["signature"] = STANDARD.encode(parts(statement.bytes()).unwrap().1).into();
    let event = forged["event"].as_object_mut().unwrap();
    event.remove("event_hash");
    event["payload"]["statement_hash"] = statement.hash().to_string().into();
    let hash = Hash::of(&canonical(&forged["event"]).unwrap());
    forged["event"]["event_hash"] = hash.to_string().into();
    let leaf = leaf::of(&Sealed::from_served(&forged["event"]).unwrap()).unwrap();
    (forged["leaf"], forged["proof"]) = (json!(0), json!([]));
    forged["checkpoint"] = TreeHead::sign(1, leaf_hash(&leaf), stolen).into();
    forged
}

/// The verifier in Python accepts the first of the files, and names the earlier key in its refusal of the others.
fn the_second_verifier_agrees(app: &TestApp, files: &[Vec<u8>], keys: LogKeys<'_>) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifier/receipt.py");
    let mut python = std::process::Command::new("python3");
    python.arg(script).args(["--key", &keys.trusted[0].to_string(), "--earlier-key", &keys.earlier[0].to_string()]);
    for (number, file) in files.iter().enumerate() {
        let path = app.folder().join(format!("{number}.json"));
        std::fs::write(&path, file).unwrap();
        python.arg(path);
    }
    let output = python.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<_> =
        said.lines().map(|line| (line.contains(": genuine: "), line.contains("not accepted: earlier_key"))).collect();
    assert_eq!(said, [(true, false), (false, true), (false, true)], "{}", String::from_utf8_lossy(&output.stderr));
}

on_each_store! {
    /// A running server signs with the new key at its next turn, and people who trust the old key can check what the new one signed.
    async fn the_old_key_names_the_new_one_and_servers_follow(app: &mut TestApp) {
        let (intent, _) = answered(app).await;
        let first = key(app);
        let old_note = note(app).await;
        let old_size = TreeHead::verify(&old_note, std::slice::from_ref(&first)).unwrap().size;
        let old_export = export(app, &format!("size={old_size}")).await;

        let succession = replaced(app, None).await.unwrap();
        assert_eq!(succession.replaces, first.to_string());
        let record = app.store().record(account::principal(), intent).await.unwrap().unwrap();
        assert!(matches!(record.verified.sealing, Sealing::Sealed { .. }), "the checkpoint of the old key still counts");
        answered(app).await;
        let second = succession.key.parse::<VerifyingKey>().unwrap();
        assert!(TreeHead::verify(&note(app).await, std::slice::from_ref(&second)).is_ok(), "the next turn signs with the new key");
        assert_eq!(key(app), second);

        let events = app.api(Role::Auditor).get("api/v1/server/events").await.ok();
        let last = events.as_array().unwrap().iter().rfind(|event| event["event_type"] == "log_key.added").unwrap().clone();
        assert_eq!(last["payload"], json!({"key": succession.key, "replaces": succession.replaces, "signature": succession.signature}));
        assert_eq!(successors(std::slice::from_ref(&first), &[serde_json::from_value(last["payload"].clone()).unwrap()]), std::slice::from_ref(&second));

        let whole = export(app, "").await;
        let by_first = verified(&whole, &first);
        assert_eq!((by_first.verdict, warnings(&by_first)), (Verdict::Verified, vec!["key_passed_on"]), "{by_first:?}");
        let by_second = verified(&whole, &second);
        assert_eq!((by_second.verdict, warnings(&by_second).contains(&"key_passed_on")), (Verdict::Verified, false));
        let stranger = SigningKey::new(first.name(), &[9; 32]).unwrap().verifying().clone();
        assert_eq!(verified(&whole, &stranger).verdict, Verdict::NotVerified);
        assert_eq!(export(app, &format!("size={old_size}")).await, old_export, "an export of an old checkpoint is as it was");
        assert_eq!(verified(&old_export, &second).verdict, Verdict::NotVerified, "a later key says nothing of an earlier one");
        app.restart().await;
        assert_eq!(key(app), second);
    }

    /// A receipt that was issued before has a statement that the old key signed. Its thief can sign statements, too, and must not get a receipt
    /// accepted.
    async fn an_earlier_key_counts_for_the_statement_of_a_receipt_alone(app: &mut TestApp) {
        let (_, suspension) = answered(app).await;
        let old = app.checkpoints().key().unwrap();
        let before = app.agent().post(&format!("api/v1/suspensions/{suspension}/receipt"), json!({})).await.ok();
        let second: VerifyingKey = replaced(app, None).await.unwrap().key.parse().unwrap();
        note(app).await;
        app.restart().await;
        let path = format!("api/v1/receipts/{}", before["receipt_id"].as_str().unwrap());
        let after = app.agent().get(&path).await.ok();
        let checkpoint = after["receipt"]["checkpoint"].as_str().unwrap();
        let (trusted, earlier) = (std::slice::from_ref(&second), std::slice::from_ref(old.verifying()));
        assert!(TreeHead::verify(checkpoint, trusted).is_ok(), "a receipt that is fetched now has a checkpoint of the new key");
        assert_eq!(after["receipt"]["signature"], before["receipt"]["signature"], "the statement is as it was");

        let forged = forged(&after["receipt"], &old);
        let files = [&after["receipt"], &before["receipt"], &forged].map(|file| file.to_string().into_bytes());
        let [after_file, before_file, forged_file] = &files;
        let keys = LogKeys { trusted, earlier };
        let unsigned = FileError::Signature;
        let named = FileError::EarlierCheckpoint(second.name().to_owned());
        assert!(named.to_string().contains("fetch the receipt again from the server"), "{named}");
        assert_eq!(verify_file(after_file, keys).unwrap().decision, before["receipt"]["decision"]);
        assert_eq!(verify_file(after_file, trusted), Err(unsigned), "nothing is taken from an earlier key that was not given");
        assert_eq!(verify_file(before_file, keys), Err(named.clone()));
        assert_eq!(verify_file(forged_file, keys), Err(named));
        assert!(verify_file(forged_file, earlier).is_ok(), "the thief deceives a party that still trusts the old key");
        let mut grafted = forged.clone();
        grafted["checkpoint"] = checkpoint.into();
        assert_eq!(verify_file(grafted.to_string().as_bytes(), keys), Err(FileError::Path));
        grafted["event"] = after["receipt"]["event"].clone();
        assert_eq!(verify_file(grafted.to_string().as_bytes(), keys), Err(FileError::OtherEvent));
        let both = [second.clone(), old.verifying().clone()];
        for file in [after_file, before_file] {
            assert!(verify_file(file, LogKeys { trusted: &both, earlier }).is_ok(), "a key in both lists counts for everything");
        }

        let cose = app.agent().request("GET", &format!("{path}?format=cose")).send().await.unwrap().bytes().await.unwrap();
        let leaf = leaf::of(&Sealed::from_served(&after["receipt"]["event"]).unwrap()).unwrap();
        assert!(verify_cose(&cose, &leaf, keys).is_ok());
        assert!(matches!(verify_cose(&cose, &leaf, trusted), Err(ReceiptError::UnknownKey(_))));
        assert!(matches!(verify_cose(&cose, &leaf, earlier), Err(ReceiptError::UnknownKey(_))));
        the_second_verifier_agrees(app, &files, keys);
    }

    /// A client that remembers a checkpoint of the old key goes on with both keys, and still notices a log that was rewritten meanwhile.
    async fn a_clients_memory_reaches_over_a_rotation(app: &mut TestApp) {
        let (first, file) = (key(app), app.folder().join("remembered"));
        let client = |keys: &[&VerifyingKey]| {
            let builder = Client::builder(app.base.clone(), app.agent().key().to_owned()).log_file(file.clone());
            keys.iter().fold(builder, |builder, key| builder.log_key(key.to_string())).build().unwrap()
        };
        note(app).await;
        let before = client(&[&first]).check_log().await.unwrap();
        let second: VerifyingKey = replaced(app, None).await.unwrap().key.parse().unwrap();
        note(app).await;
        assert!(matches!(client(&[&first]).check_log().await, Err(LogError::Untrusted(_))));
        assert!(matches!(client(&[&second]).check_log().await, Err(LogError::File(_))), "what is remembered is signed by the old key");
        assert!(client(&[&second, &first]).check_log().await.unwrap().size > before.size);
        assert!(client(&[&second]).check_log().await.is_ok(), "the old key is needed no longer");
    }

    /// The secret half of a key that signs no more is in the database no longer, and keys follow each other more than once.
    async fn keys_follow_each_other_and_old_secrets_are_gone(app: &mut TestApp) {
        let first = key(app);
        for _ in 0..3 {
            replaced(app, None).await.unwrap();
        }
        let sealed = rows::number(app, "SELECT count(*) AS number FROM log_keys WHERE sealed IS NOT NULL").await;
        let all = rows::number(app, "SELECT count(*) AS number FROM log_keys").await;
        assert_eq!((sealed, all), (1, 4));
        answered(app).await;
        let whole = export(app, "").await;
        assert_eq!(header(&whole)["succession"].as_array().unwrap().len(), 3);
        assert_eq!(verified(&whole, &first).verdict, Verdict::Verified);
        let mut listed = header(&whole);
        let members = ["replaces", "key", "signature"].map(|name| listed["succession"][1][name].clone());
        listed["succession"][1] = json!(members);
        let rest = whole.split_once('\n').unwrap().1;
        assert_eq!(verified(&format!("{listed}\n{rest}"), &first).verdict, Verdict::NotVerified, "a list is no statement");
        for (change, verdict) in [("replaces", Verdict::NotVerified), ("signature", Verdict::NotVerified)] {
            let mut forged = header(&whole);
            forged["succession"][1][change] = forged["succession"][0][change].clone();
            assert_eq!(verified(&format!("{forged}\n{rest}"), &first).verdict, verdict, "{change}");
        }
    }

    /// An operator's own key is followed by another of the operator's; the server waits for the file and then signs.
    async fn an_operators_key_is_followed_by_the_operators_next_one(app: &mut TestApp) {
        let name = key(app).name().to_owned();
        let (path, own) = given(app, &name, 7);
        replaced(app, Some(&path)).await.unwrap();
        answered(app).await;
        assert!(app.checkpoints().turn().await.unwrap().is_none(), "the file does not open the new key");
        let refused = app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await;
        assert_eq!(refused.problem(), (409, "log_not_signed"));
        std::fs::copy(&path, key_file(app)).unwrap();
        assert!(TreeHead::verify(&note(app).await, std::slice::from_ref(&own)).is_ok(), "it signs when the file is in place");

        let missing = replaced(app, None).await.unwrap_err().to_string();
        assert!(missing.contains("--new-key-file"), "{missing}");
        let (other, _) = given(app, "another.example", 8);
        let named = replaced(app, Some(&other)).await.unwrap_err().to_string();
        assert!(named.contains("a log keeps its name"), "{named}");
        let same = replaced(app, Some(&path)).await.unwrap_err().to_string();
        assert!(same.contains("has or had the key"), "{same}");
        assert_eq!(key(app), own, "a refusal changes nothing");

        let wrapping = app.folder().join("wrapping");
        std::fs::write(&wrapping, KeyFile::write(&[5; 32])).unwrap();
        replaced(app, Some(&wrapping)).await.unwrap();
        std::fs::copy(&wrapping, key_file(app)).unwrap();
        answered(app).await;
        note(app).await;
        assert_ne!(key(app), own);
    }

    /// A statement that the key in force did not sign changes nothing; and of two at once one counts.
    async fn only_the_key_in_force_passes_the_log_on(app: &mut TestApp) {
        let (first, name) = (key(app), key(app).name().to_owned());
        let thief = SigningKey::new(&name, &[9; 32]).unwrap();
        let row = |key: &VerifyingKey| store::LogKeyRow { name: name.clone(), public: key.public(), sealed: None, signature: None };
        let forged = Succession { replaces: first.to_string(), ..Succession::sign(&thief, thief.verifying()) };
        let by = account::principal();
        assert!(app.store().pass_on_log_key(by.clone(), row(thief.verifying()), forged).await.is_err());
        let stale = Succession::sign(&thief, thief.verifying());
        assert!(!app.store().pass_on_log_key(by, row(thief.verifying()), stale).await.unwrap());
        assert_eq!(app.store().log_keys().await.unwrap().len(), 1);
        let (one, two) = tokio::join!(replaced(app, None), replaced(app, None));
        assert!(one.is_ok() || two.is_ok());
        let rotations = [one, two].iter().filter(|done| done.is_ok()).count();
        assert_eq!(app.store().log_keys().await.unwrap().len(), 1 + rotations);
        answered(app).await;
        assert_eq!(verified(&export(app, "").await, &first).verdict, Verdict::Verified);
    }
}
