//! Tampering with proofs, erased events, the header, the manifest, and checkpoints.

use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use serde_json::{Value, json};

use super::{Export, Kind, LONG_AGO, Log, Made, Members, Scene, renumber};

/// The whole export of a log of another deployment.
fn stranger(scene: &mut Scene, name: &str) -> Log {
    let key = SigningKey::new(name, &scene.chance.bytes()).unwrap();
    Log { events: scene.log.events.clone(), key, exported_at: scene.log.exported_at.clone() }
}

pub(super) fn proofs() -> Vec<Kind> {
    fn with(scene: &mut Scene, change: impl Fn(&mut Vec<String>)) -> Made {
        let mut export = scene.selection();
        change(export.lines[5].proof.as_mut().unwrap());
        export.write_anew().into()
    }
    vec![
        ("a proof is missing", &["proof_missing"], |scene| {
            let mut export = scene.selection();
            export.lines[5].proof = None;
            export.write_anew().into()
        }),
        ("a proof is shorter", &["wrong_proof"], |scene| with(scene, |proof| drop(proof.remove(0)))),
        ("a proof is longer", &["wrong_proof"], |scene| with(scene, |proof| proof.push(proof[0].clone()))),
        ("a proof has another order", &["wrong_proof"], |scene| with(scene, |proof| proof.swap(0, 1))),
        ("a proof is changed", &["wrong_proof"], |scene| with(scene, |proof| proof[1] = format!("{}=", "A".repeat(43)))),
        ("a proof is no hash", &["wrong_proof"], |scene| with(scene, |proof| proof[1].truncate(4))),
        ("two proofs are swapped", &["wrong_proof"], |scene| {
            let mut export = scene.selection();
            let other = export.lines[9].proof.clone();
            export.lines[5].proof = other;
            export.write_anew().into()
        }),
        ("a proof comes from another deployment", &["wrong_proof"], |scene| {
            let mut export = scene.selection();
            scene.log.events[20].hash.insert(9, 'x');
            export.lines[5].proof.clone_from(&scene.selection().lines[5].proof);
            export.write_anew().into()
        }),
        ("a node passes for a leaf", &["wrong_proof"], |scene| {
            let mut export = scene.selection();
            let line = &mut export.lines[5];
            line.leaf /= 2;
            line.proof.as_mut().unwrap().remove(0);
            export.lines.drain(..5);
            export.write_anew().into()
        }),
        ("a leaf of a selection has another number", &["wrong_proof"], |scene| {
            let mut export = scene.selection();
            let place =
                (1..export.lines.len()).find(|place| export.lines[*place].leaf > export.lines[place - 1].leaf + 1).unwrap();
            export.lines[place].leaf -= 1;
            export.write_anew().into()
        }),
    ]
}

/// The events of a selection, and not their proofs, are tampered with.
pub(super) fn selections() -> Vec<Kind> {
    vec![
        ("an event of a selection comes twice", &["leaf_order"], |scene| {
            let mut export = scene.selection();
            export.lines.insert(6, export.lines[5].clone());
            export.write_anew().into()
        }),
        ("an event of a selection is replaced", &["wrong_hash"], |scene| {
            let mut export = scene.selection();
            let (mut event, hash) = (export.lines[5].event(), export.lines[5].event()["event_hash"].clone());
            event["payload"]["amount"] = json!(1);
            export.lines[5].set_event(event, hash.as_str());
            export.write_anew().into()
        }),
        ("an event of a selection is replaced and sealed anew", &["wrong_proof", "wrong_previous"], |scene| {
            let mut export = scene.selection();
            let place = export.lines.len() - 1;
            let mut event = export.lines[place].event();
            event["payload"]["amount"] = json!(1);
            export.lines[place].set_event(event, None);
            export.write_anew().into()
        }),
        ("an event of a selection lies beyond the tree", &["leaf_beyond"], |scene| {
            let mut export = scene.selection();
            export.lines.last_mut().unwrap().leaf += 1_000;
            export.write_anew().into()
        }),
        ("an event of the server's log is left out of a selection", &["wrong_sequence"], |scene| {
            let mut export = scene.selection();
            let place = export.lines.iter().position(|line| line.event()["log"] == "server" && line.leaf > 5).unwrap();
            export.lines.remove(place);
            export.write_anew().into()
        }),
        ("the numbers of a selection go back, signed", &["wrong_sequence"], |scene| {
            scene.log.events.swap(scene.intent[4], scene.intent[5]);
            scene.selection().write_anew().into()
        }),
    ]
}

pub(super) fn erasures() -> Vec<Kind> {
    fn with(scene: &mut Scene, export: fn(&Scene) -> Export, change: impl Fn(&mut Value)) -> Made {
        let mut export = export(scene);
        let place = export.lines.iter().position(|line| line.leaf == scene.erased as u64).unwrap();
        let mut leaf = export.lines[place].event();
        change(&mut leaf);
        export.lines[place].text = String::from_utf8(domain::base::json::canonical(&leaf).unwrap()).unwrap();
        export.write_anew().into()
    }
    vec![
        ("an event is erased and no event says so", &["erased_without_event"], |scene| {
            let place = scene.middle();
            scene.log.events[place].is_erased = true;
            scene.whole().write_anew().into()
        }),
        ("an event of a selection is erased and no event says so", &["erased_without_event"], |scene| {
            let place = scene.intent[2];
            scene.log.events[place].is_erased = true;
            scene.selection().write_anew().into()
        }),
        ("an erased event gets a payload", &["wrong_hash"], |scene| {
            let mut export = scene.whole();
            let line = &mut export.lines[scene.erased];
            let (mut event, hash) = (line.event(), line.event()["event_hash"].clone());
            (event["payload"], event["salt"]) = (json!({"amount": 1}), json!("A".repeat(43)));
            line.is_erased = false;
            line.set_event(event, hash.as_str());
            export.write_anew().into()
        }),
        ("an erased event keeps its salt", &["unknown_member"], |scene| {
            with(scene, Scene::whole, |leaf| leaf["salt"] = json!("A".repeat(43)))
        }),
        ("the actor of an erased event is changed", &["root_differs"], |scene| {
            with(scene, Scene::whole, |leaf| leaf["actor"] = json!("eve"))
        }),
        ("the actor of an erased event of a selection is changed", &["wrong_proof"], |scene| {
            with(scene, Scene::selection, |leaf| leaf["actor"] = json!("eve"))
        }),
        ("the hash of an erased event is changed", &["wrong_previous"], |scene| {
            with(scene, Scene::whole, |leaf| leaf["event_hash"] = json!(format!("sha256:{}", "A".repeat(43))))
        }),
        ("the number of an erased event is changed", &["wrong_sequence"], |scene| {
            with(scene, Scene::whole, |leaf| leaf["sequence"] = json!(9))
        }),
        ("the time of an erased event is put back", &["time_backwards"], |scene| {
            with(scene, Scene::whole, |leaf| leaf["created_at"] = json!(LONG_AGO))
        }),
        ("an erased event has no hash", &["event_form"], |scene| {
            with(scene, Scene::whole, |leaf| drop(leaf.as_object_mut().unwrap().remove("event_hash")))
        }),
        ("the event that names an erased one is erased", &["redaction_erased"], |scene| {
            let place = scene.log.events.iter().position(|event| event.members["event_type"] == "payload.redacted").unwrap();
            scene.log.events[place].is_erased = true;
            scene.whole().write_anew().into()
        }),
        ("the event that names an erased one is changed", &["wrong_hash"], |scene| {
            let mut export = scene.whole();
            let line = export.lines.iter_mut().find(|line| line.event()["event_type"] == "payload.redacted").unwrap();
            let (mut event, hash) = (line.event(), line.event()["event_hash"].clone());
            event["payload"]["by"] = json!("eve");
            line.set_event(event, hash.as_str());
            export.write_anew().into()
        }),
    ]
}

pub(super) fn header() -> Vec<Kind> {
    fn with(scene: &mut Scene, change: impl Fn(&mut Export)) -> Made {
        let mut export = scene.whole();
        change(&mut export);
        export.write_anew().into()
    }
    fn replaced(scene: &mut Scene, from: &str, to: &str) -> Made {
        let (text, before) = (scene.whole().write(), scene.whole().write());
        let text = text.replacen(from, to, 1);
        assert_ne!(text, before, "{from} is replaced");
        text.into()
    }
    vec![
        ("the header is missing", &["no_header"], |scene| scene.whole().write().split_once('\n').unwrap().1.to_owned().into()),
        ("the header is no JSON", &["not_json"], |scene| replaced(scene, "\"placet_export\"", "placet_export")),
        ("the header has another version", &["unknown_version"], |scene| {
            replaced(scene, "\"placet_export\":1", "\"placet_export\":2")
        }),
        ("a member of the header is missing", &["header_form"], |scene| replaced(scene, "\"selection\":null,", "")),
        ("a member is added to the header", &["unknown_member"], |scene| {
            replaced(scene, "\"selection\":null,", "\"selection\":null,\"note\":1,")
        }),
        ("a member of the header comes twice", &["duplicate_member"], |scene| {
            replaced(scene, "\"selection\":null,", "\"selection\":null,\"selection\":{},")
        }),
        ("the header comes twice", &["second_header"], |scene| {
            let text = scene.whole().write();
            format!("{}\n{text}", text.split_once('\n').unwrap().0).into()
        }),
        ("the header names another log", &["wrong_origin"], |scene| {
            with(scene, |export| export.header.origin = "another.example/log".into())
        }),
        ("the header names another key", &["key_differs"], |scene| {
            let other = stranger(scene, "placet.example/log").key.verifying().to_string();
            with(scene, |export| export.header.key.clone_from(&other))
        }),
        ("the header has another size", &["size_differs"], |scene| with(scene, |export| export.header.size -= 1)),
        ("the header's time has no zone", &["header_form"], |scene| with(scene, |export| export.header.exported_at.truncate(26))),
        ("the header has another time", &["manifest_hash"], |scene| {
            let time = scene.log.exported_at.clone();
            replaced(scene, &time, "2026-12-01T00:00:00.000000Z")
        }),
        ("the header has a time before the events", &["time_after_export"], |scene| {
            with(scene, |export| export.header.exported_at = format!("{LONG_AGO}Z"))
        }),
        ("a whole export passes for a selection", &["proof_missing"], |scene| {
            with(scene, |export| export.header.selection = json!({}))
        }),
        ("a selection passes for a whole export", &["unknown_member"], |scene| {
            let mut export = scene.selection();
            export.header.selection = Value::Null;
            export.write_anew().into()
        }),
        ("a selection without its proofs passes for a whole export", &["leaf_gap"], |scene| {
            let mut export = scene.selection();
            export.header.selection = Value::Null;
            export.lines.iter_mut().for_each(|line| line.proof = None);
            export.write_anew().into()
        }),
        ("another export follows", &["concatenated"], |scene| scene.whole().write().repeat(2).into()),
    ]
}

pub(super) fn manifest() -> Vec<Kind> {
    fn with(scene: &mut Scene, change: impl Fn(&mut Members)) -> Made {
        let mut export = scene.whole();
        change(&mut export.manifest);
        export.write().into()
    }
    vec![
        ("the manifest is missing", &["no_manifest"], |scene| {
            let text = scene.whole().write();
            text[..=text.trim_end().rfind('\n').unwrap()].to_owned().into()
        }),
        ("the manifest comes twice", &["after_manifest"], |scene| {
            let text = scene.whole().write();
            format!("{text}{}\n", text.lines().last().unwrap()).into()
        }),
        ("an event follows the manifest", &["after_manifest"], |scene| {
            let (text, export) = (scene.whole().write(), scene.whole());
            format!("{text}{}", export.lines[3].write()).into()
        }),
        ("the manifest stands among the events", &["after_manifest"], |scene| {
            let text = scene.whole().write();
            let mut lines: Vec<_> = text.lines().collect();
            let manifest = lines.pop().unwrap();
            lines.insert(9, manifest);
            format!("{}\n", lines.join("\n")).into()
        }),
        ("the manifest counts more events", &["manifest_counts"], |scene| with(scene, |manifest| manifest["events"] = json!(1))),
        ("the manifest counts more erased events", &["manifest_counts"], |scene| {
            with(scene, |manifest| manifest["redacted"] = json!(0))
        }),
        ("the manifest has another first leaf", &["manifest_counts"], |scene| {
            with(scene, |manifest| manifest["first_leaf"] = json!(1))
        }),
        ("the manifest has another last leaf", &["manifest_counts"], |scene| {
            with(scene, |manifest| manifest["last_leaf"] = Value::Null)
        }),
        ("the manifest counts other types", &["manifest_counts"], |scene| {
            with(scene, |manifest| manifest["by_type"]["asked"] = json!(1))
        }),
        ("the manifest leaves a type out", &["manifest_counts"], |scene| {
            with(scene, |manifest| {
                let by_type = manifest["by_type"].as_object_mut().unwrap();
                let first = by_type.keys().next().unwrap().clone();
                by_type.remove(&first);
            })
        }),
        ("the manifest has another size", &["manifest_differs"], |scene| with(scene, |manifest| manifest["size"] = json!(1))),
        ("the manifest has another root", &["manifest_differs"], |scene| {
            with(scene, |manifest| manifest["root"] = json!(format!("{}=", "A".repeat(43))))
        }),
        ("the manifest has another checkpoint", &["manifest_differs"], |scene| {
            let older = scene.log.checkpoint(9);
            with(scene, |manifest| manifest["checkpoint"] = json!(older))
        }),
        ("the manifest has another hash", &["manifest_hash"], |scene| {
            with(scene, |manifest| manifest["sha256"] = json!("0".repeat(64)))
        }),
        ("a member of the manifest is missing", &["manifest_form"], |scene| {
            with(scene, |manifest| drop(manifest.remove("root")))
        }),
        ("a member is added to the manifest", &["unknown_member"], |scene| {
            with(scene, |manifest| drop(manifest.insert("note".to_owned(), json!(1))))
        }),
        ("the manifest is no object", &["manifest_form"], |scene| {
            let mut export = scene.whole();
            export.manifest.clear();
            export.write().replace("{\"manifest\":{}}", "{\"manifest\":7}").into()
        }),
    ]
}

pub(super) fn checkpoints() -> Vec<Kind> {
    fn with(scene: &mut Scene, change: impl Fn(&str) -> String) -> Made {
        let mut export = scene.whole();
        export.header.checkpoint = change(&export.header.checkpoint);
        export.write_anew().into()
    }
    vec![
        ("the checkpoint is no note", &["checkpoint_form"], |scene| with(scene, |note| note.replacen("\n\n", "\n", 1))),
        ("the checkpoint's size is changed", &["wrong_signature"], |scene| {
            let size = scene.size();
            with(scene, |note| note.replacen(&format!("\n{size}\n"), &format!("\n{}\n", size + 1), 1))
        }),
        ("the checkpoint's root is another one", &["wrong_signature"], |scene| {
            with(scene, |note| {
                let head = TreeHead::read(note).unwrap();
                note.replacen(note.lines().nth(2).unwrap(), &format!("{}=", "A".repeat(43)), usize::from(head.size > 0))
            })
        }),
        ("the checkpoint's signature is changed", &["wrong_signature"], |scene| {
            with(scene, |note| {
                let place = note.len() - 20;
                let other = if note.as_bytes()[place] == b'A' { "B" } else { "A" };
                [&note[..place], other, &note[place + 1..]].concat()
            })
        }),
        ("the checkpoint is not signed", &["unknown_key"], |scene| {
            let line = stranger(scene, "witness.example").checkpoint(0).lines().last().unwrap().to_owned();
            with(scene, |note| format!("{}\n\n{line}\n", note.split_once("\n\n").unwrap().0))
        }),
        ("another key of the same name has signed", &["unknown_key"], |scene| {
            let other = stranger(scene, "placet.example/log");
            other.export(other.events.len(), None).write().into()
        }),
        ("it is the export of another deployment", &["wrong_origin"], |scene| {
            let other = stranger(scene, "another.example/log");
            other.export(other.events.len(), None).write().into()
        }),
        ("the checkpoint is an older one", &["size_differs"], |scene| {
            let older = scene.log.checkpoint(scene.size() - 4);
            with(scene, |_| older.clone())
        }),
        ("the checkpoint and the size are older ones", &["leaf_beyond"], |scene| {
            let (older, mut export) = (scene.log.checkpoint(scene.size() - 4), scene.whole());
            (export.header.checkpoint, export.header.size) = (older, export.header.size - 4);
            export.write_anew().into()
        }),
    ]
}

/// The export is right in itself, and a checkpoint that was kept or another export shows that the log was rewritten.
pub(super) fn histories() -> Vec<Kind> {
    vec![
        ("the log is rewritten and signed by its own key", &["kept_differs"], |scene| {
            let note = scene.log.checkpoint(scene.size() - 5);
            let export = scene.signed_anew(|members| members["payload"]["amount"] = json!(1));
            Made { kept: vec![note], ..export.write().into() }
        }),
        ("the log is rewritten and shown as a selection of the same size", &["kept_differs"], |scene| {
            let note = scene.log.checkpoint(scene.size());
            scene.signed_anew(|members| members["payload"]["amount"] = json!(1));
            Made { kept: vec![note], ..scene.selection().write().into() }
        }),
        ("the newest events are removed and an older checkpoint is shown", &["kept_newer"], |scene| {
            let note = scene.log.checkpoint(scene.size());
            Made { kept: vec![note], ..scene.log.export(scene.size() - 3, None).write().into() }
        }),
        ("a larger export of a rewritten log stands beside an older one", &["exports_disagree", "kept_newer"], |scene| {
            let (note, older) = (scene.log.checkpoint(scene.size()), scene.log.export(scene.size() - 5, None).write());
            let larger = scene.signed_anew(|members| members["payload"]["amount"] = json!(1)).write();
            Made { files: vec![larger.into_bytes(), older.into_bytes()], kept: vec![note] }
        }),
        ("two views of one size", &["exports_disagree"], |scene| {
            let first = scene.whole().write();
            let second = scene.signed_anew(|members| members["payload"]["amount"] = json!(1)).write();
            Made { files: vec![first.into_bytes(), second.into_bytes()], kept: Vec::new() }
        }),
        ("two views of different sizes", &["exports_disagree"], |scene| {
            let first = scene.log.export(scene.size() - 5, None).write();
            let second = scene.signed_anew(|members| members["payload"]["amount"] = json!(1)).write();
            Made { files: vec![second.into_bytes(), first.into_bytes()], kept: Vec::new() }
        }),
    ]
}

/// The kept checkpoints themselves.
pub(super) fn kept() -> Vec<Kind> {
    fn kept(scene: &mut Scene, note: String) -> Made {
        Made { kept: vec![note], ..scene.whole().write().into() }
    }
    vec![
        ("a kept checkpoint is of another log", &["kept_origin"], |scene| {
            let note = stranger(scene, "another.example/log").checkpoint(5);
            kept(scene, note)
        }),
        ("a kept checkpoint is signed by another key", &["kept_signature"], |scene| {
            let note = stranger(scene, "placet.example/log").checkpoint(5);
            kept(scene, note)
        }),
        ("a kept checkpoint is changed", &["kept_signature"], |scene| {
            let note = scene.log.checkpoint(9).replacen("\n9\n", "\n8\n", 1);
            kept(scene, note)
        }),
        ("a kept checkpoint is no note", &["kept_form"], |scene| kept(scene, "9 events\n".to_owned())),
        ("the events are those of a shorter log with the same checkpoint", &["events_missing"], |scene| {
            let mut export = scene.whole();
            export.lines.pop();
            renumber(&mut export);
            export.write_anew().into()
        }),
    ]
}
