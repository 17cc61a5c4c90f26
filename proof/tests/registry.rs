//! Checkpoints, proofs, requests and cosignatures of ours in the hands of programs of other authors, and theirs in ours.
//!
//! `signed_note` and `tlog_tiles` are crates of Cloudflare's, after the Go packages of that name. `aics-witness` is a witness from
//! `PyPI`; its answers to our requests stand here as it gave them.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

use proof::checkpoint::{CHECKPOINT_BYTES_MAX, TreeHead};
use proof::key::{KeyFile, SigningKey, VerifyingKey};
use proof::tree::{Growth, NodeHash, TilesInMemory, Tree, is_consistent, is_included, leaf_hash};
use proof::witness::{Answer, WitnessKey, append, request, verify_cosigned};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use signed_note::{Note, Signature, Signer, StandardSigner, StandardVerifier, Verifier, VerifierList};
use tlog_tiles::tlog::{Hash, check_record, check_tree, prove_record, prove_tree, record_hash, stored_hashes, tree_hash};
use tlog_tiles::{Checkpoint, HashReader};

/// How many pairs of sizes and how many leaves are drawn.
const DRAWN: u64 = 400;
const LEAVES: u64 = 3000;
/// The key of the documentation of Go's package for signed notes, and of `signed_note`.
const THEIRS: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

fn leaf(index: u64) -> [u8; 8] {
    index.to_be_bytes()
}

/// Our tree of the numbers from 0.
fn ours(leaves: u64) -> TilesInMemory {
    let mut kept = TilesInMemory::new();
    let mut growth = Growth::begin(&mut kept, 0).unwrap();
    (0..leaves).for_each(|index| growth.push(leaf_hash(&leaf(index))));
    kept.extend(growth.into_tiles());
    kept
}

/// The same tree as `tlog_tiles` stores it.
struct Stored(Vec<Hash>);

impl HashReader for Stored {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, tlog_tiles::Error> {
        Ok(indexes.iter().map(|index| self.0[usize::try_from(*index).unwrap()]).collect())
    }
}

fn theirs(leaves: u64) -> Stored {
    let mut stored = Stored(Vec::new());
    for index in 0..leaves {
        let more = stored_hashes(index, &leaf(index), &stored).unwrap();
        stored.0.extend(more);
    }
    stored
}

fn hashes(proof: &[NodeHash]) -> Vec<Hash> {
    proof.iter().copied().map(Hash).collect()
}

fn bytes(proof: &[Hash]) -> Vec<NodeHash> {
    proof.iter().map(|hash| hash.0).collect()
}

/// The head of a checkpoint that their code reads and verifies.
fn read_by_theirs(note: &[u8], key: &str) -> Option<Checkpoint> {
    let note = Note::from_bytes(note).ok()?;
    let known = VerifierList::new(vec![Box::new(StandardVerifier::new(key).ok()?)]);
    note.verify(&known).ok()?;
    Checkpoint::from_bytes(note.text()).ok()
}

/// A checkpoint of theirs.
fn written_by_theirs(size: u64, root: NodeHash, extension: &str) -> Vec<u8> {
    let signer = StandardSigner::new(THEIRS).unwrap();
    let text = Checkpoint::new(signer.name(), size, Hash(root), extension).unwrap().to_bytes();
    let mut note = Note::new(&text, &[]).unwrap();
    note.add_sigs(&[&signer]).unwrap();
    note.to_bytes()
}

fn their_key() -> SigningKey {
    let KeyFile::Given(key) = KeyFile::read(THEIRS).unwrap() else { panic!("no signing key") };
    *key
}

fn our_key() -> SigningKey {
    SigningKey::new("example.com/placet", &[1; 32]).unwrap()
}

/// Changes each byte of a note to others and counts how often.
fn each_change(note: &[u8], mut is_refused: impl FnMut(&[u8]) -> bool) -> usize {
    let mut count = 0;
    for place in 0..note.len() {
        let bits = (0..8).map(|bit| note[place] ^ (1 << bit));
        for other in bits.chain(*b"\n\r +0A=\0").filter(|other| *other != note[place]) {
            let mut changed = note.to_vec();
            changed[place] = other;
            assert!(is_refused(&changed), "byte {place} as {other}");
            count += 1;
        }
    }
    count
}

#[test]
fn our_checkpoints_are_read_by_theirs() {
    let key = our_key();
    let vkey = key.verifying().to_string();
    for size in [0, 1, 255, 1 << 40, u64::MAX] {
        let note = TreeHead::sign(size, [7; 32], &key);
        let head = read_by_theirs(note.as_bytes(), &vkey).unwrap();
        assert_eq!((head.origin(), head.size(), head.hash().0, head.extension()), (key.verifying().name(), size, [7; 32], ""));
        assert!(read_by_theirs(note.as_bytes(), &their_key().verifying().to_string()).is_none(), "another key");
    }
}

#[test]
fn their_checkpoints_are_read_by_ours() {
    // Their form of the key gives the same public half here and there.
    let key = their_key().verifying().clone();
    let signer = StandardSigner::new(THEIRS).unwrap();
    assert_eq!((key.name(), u32::from_be_bytes(key.hash())), (signer.name(), signer.key_id()));
    let verifier = StandardVerifier::new(&key.to_string()).unwrap();
    assert!(verifier.verify(b"text", &signer.sign(b"text").unwrap()));
    for (size, extension) in [(0, ""), (255, ""), (u64::MAX, ""), (3, "a line\nanother\n")] {
        let note = String::from_utf8(written_by_theirs(size, [7; 32], extension)).unwrap();
        let head = TreeHead { origin: "PeterNeumann".into(), size, root: [7; 32] };
        assert_eq!(TreeHead::verify(&note, std::slice::from_ref(&key)), Ok(head));
        assert!(TreeHead::verify(&note, &[our_key().verifying().clone()]).is_err());
    }
    // One key and one text have one signature, so both write the same bytes.
    assert_eq!(written_by_theirs(9, [7; 32], ""), TreeHead::sign(9, [7; 32], &their_key()).into_bytes());
}

#[test]
fn each_changed_byte_of_a_checkpoint_is_refused_by_both() {
    let (ours, theirs) = (our_key(), their_key());
    for (note, key) in [(TreeHead::sign(70, [3; 32], &ours).into_bytes(), ours), (written_by_theirs(70, [3; 32], ""), theirs)] {
        let (key, vkey): (VerifyingKey, _) = (key.verifying().clone(), key.verifying().to_string());
        assert!(read_by_theirs(&note, &vkey).is_some());
        let changes = each_change(&note, |changed| {
            let by_ours = str::from_utf8(changed).is_ok_and(|note| TreeHead::verify(note, std::slice::from_ref(&key)).is_ok());
            !by_ours && read_by_theirs(changed, &vkey).is_none()
        });
        assert!(changes > 2000, "only {changes}");
    }
}

/// A text that one side refuses as no note at all is refused by the other as well, whichever key signed it.
#[test]
fn both_agree_on_what_is_a_note() {
    let note = TreeHead::sign(70, [3; 32], &our_key());
    let further = |line: &str| format!("{note}\u{2014} {line}\n");
    for (text, is_note) in [
        (further("x AAAAAAA="), true),
        (further("x AAAAAA=="), false),
        (further("x AAAAAAB="), false),
        (further("x+y AAAAAAA="), false),
        (further("x\u{a0}y AAAAAAA="), false),
        (further(" AAAAAAA="), false),
        (further("x  AAAAAAA="), false),
        (further("x AAAAAAA"), false),
        (further("x AAAAAAA= "), false),
        (note.replace('\u{2014}', "-"), false),
        (format!("{note}\n"), false),
        (format!("\n{note}"), false),
        (note.replacen("70", "18446744073709551616", 1), false),
    ] {
        let theirs = Note::from_bytes(text.as_bytes()).is_ok_and(|note| Checkpoint::from_bytes(note.text()).is_ok());
        assert_eq!((TreeHead::read(&text).is_ok(), theirs), (is_note, is_note), "{text}");
    }
    // Ours has a smaller limit.
    let long = further(&format!("{} AAAAAAA=", "x".repeat(CHECKPOINT_BYTES_MAX)));
    assert!(Note::from_bytes(long.as_bytes()).is_ok() && TreeHead::read(&long).is_err());
}

#[test]
fn proofs_of_inclusion_are_the_same_and_hold_on_both_sides() {
    let (ours, theirs, mut random) = (ours(LEAVES), theirs(LEAVES), ChaCha8Rng::seed_from_u64(1));
    for _ in 0..DRAWN {
        let size = random.next_u64() % LEAVES + 1;
        let index = random.next_u64() % size;
        let mut tree = Tree::new(ours.clone(), size);
        let (root, proof) = (tree.root().unwrap(), tree.inclusion(index).unwrap().unwrap());
        assert_eq!(tree_hash(size, &theirs).unwrap().0, root);
        let (path, record) = (prove_record(size, index, &theirs).unwrap(), record_hash(&leaf(index)));
        assert_eq!(bytes(&path), proof, "{index} of {size}");
        assert!(check_record(&hashes(&proof), size, Hash(root), index, record).is_ok());
        assert!(is_included(&leaf(index), index, &bytes(&path), size, root));
        // Neither takes another place, another leaf, another root, or a changed, shorter or longer path.
        let holds = |path: &[NodeHash], index: u64, of: u64, root: NodeHash| {
            let by_theirs = check_record(&hashes(path), size, Hash(root), index, record_hash(&leaf(of))).is_ok();
            assert_eq!(is_included(&leaf(of), index, path, size, root), by_theirs);
            by_theirs
        };
        let place = usize::try_from(random.next_u64()).unwrap() % proof.len().max(1);
        let (mut changed, mut longer, mut other) = (proof.clone(), proof.clone(), root);
        changed.iter_mut().skip(place).take(1).for_each(|hash| hash[0] ^= 1);
        longer.insert(place, root);
        other[31] ^= 128;
        assert!(!holds(&proof, index, index + 1, root) && !holds(&proof, index, index, other));
        assert!(!holds(&longer, index, index, root) && !holds(&proof, size, index, root));
        assert!(proof.is_empty() || !holds(&changed, index, index, root) && !holds(&proof[1..], index, index, root));
    }
}

#[test]
fn proofs_of_consistency_are_the_same_and_hold_on_both_sides() {
    let (ours, theirs, mut random) = (ours(LEAVES), theirs(LEAVES), ChaCha8Rng::seed_from_u64(2));
    for _ in 0..DRAWN {
        let size = random.next_u64() % LEAVES + 1;
        let old = random.next_u64() % size + 1;
        let mut tree = Tree::new(ours.clone(), size);
        let (root, old_root) = (tree.root().unwrap(), Tree::new(ours.clone(), old).root().unwrap());
        let proof = tree.consistency(old).unwrap().unwrap();
        let path = prove_tree(size, old, &theirs).unwrap();
        assert_eq!(bytes(&path), proof, "{old} and {size}");
        let holds = |path: &[NodeHash], old: u64, old_root: NodeHash, root: NodeHash| {
            let by_theirs = check_tree(&hashes(path), size, Hash(root), old, Hash(old_root)).is_ok();
            assert_eq!(is_consistent((old, old_root), (size, root), path), by_theirs, "{old} and {size}");
            by_theirs
        };
        assert!(holds(&proof, old, old_root, root));
        let place = usize::try_from(random.next_u64()).unwrap() % proof.len().max(1);
        let (mut changed, mut longer, mut other) = (proof.clone(), proof.clone(), root);
        changed.iter_mut().skip(place).take(1).for_each(|hash| hash[0] ^= 1);
        longer.insert(place, root);
        other[31] ^= 128;
        assert!(!holds(&proof, old, other, root) && !holds(&proof, old, old_root, other));
        assert!(!holds(&longer, old, old_root, root) && !holds(&proof, size + 1, old_root, root));
        assert!(proof.is_empty() || !holds(&changed, old, old_root, root) && !holds(&proof[1..], old, old_root, root));
    }
}

/// The line of a witness whose key and signature are theirs. Their crate knows no cosignatures, so the message is formed here.
#[test]
fn a_cosignature_of_theirs_is_verified_by_ours() {
    let (key, signer) = (our_key(), StandardSigner::new(THEIRS).unwrap());
    let public = their_key().verifying().public();
    let witness = WitnessKey::new(signer.name(), public).unwrap();
    let id = signed_note::key_id(signer.name(), &[&[4][..], &public].concat());
    assert_eq!(u32::from_be_bytes(witness.hash()), id);
    assert!(StandardVerifier::new(&witness.to_string()).is_err(), "a note's verifier takes no key for cosignatures");
    let note = TreeHead::sign(70, [3; 32], &key);
    let text = Note::from_bytes(note.as_bytes()).unwrap().text().to_vec();
    let time = 1_767_225_600_u64;
    let signature = signer.sign(&[format!("cosignature/v1\ntime {time}\n").as_bytes(), &text].concat()).unwrap();
    let line = Signature::new(signer.name().to_owned(), id, [&time.to_be_bytes()[..], &signature].concat()).unwrap();
    let line = String::from_utf8(line.to_bytes()).unwrap();
    let (cosigned, cosignature) = append(&note, &line, &witness).unwrap();
    assert_eq!((cosigned.as_str(), cosignature.time_seconds), (format!("{note}{line}").as_str(), time));
    assert!(read_by_theirs(cosigned.as_bytes(), &key.verifying().to_string()).is_some());
}

/// The conversation of our client with `aics-witness` 0.1.0 over HTTP. Its clock was set; all else is as it answered.
#[test]
fn a_witness_from_a_registry_grants_our_requests() {
    let witness: WitnessKey = "witness.example/w1+d9ed62c5+BO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR".parse().unwrap();
    let key = our_key();
    let ours = ours(700);
    let note = |size| TreeHead::sign(size, Tree::new(ours.clone(), size).root().unwrap(), &key);
    let asked = |old: u64, size: u64| {
        let proof =
            if old == 0 || old == size { vec![] } else { Tree::new(ours.clone(), size).consistency(old).unwrap().unwrap() };
        request(old, &proof, &note(size)).unwrap()
    };
    // The request that it granted, byte for byte.
    assert_eq!(asked(5, 300), GRANTED);
    for (size, time_seconds, line) in [
        (
            5,
            1_767_225_602,
            "— witness.example/w1 2e1ixQAAAABpVbkCt1sePTHaivZS2pN7dxc0LCss5aTiPibRi1tAVvG1acn2C2m+g+QNHdT+jVrZdIW/2RZsRlny6Ku3coJDKJrpAQ==\n",
        ),
        (
            300,
            1_767_227_774,
            "— witness.example/w1 2e1ixQAAAABpVcF+yJ+a6PR5B+9bbPnl4Whpih4Y8qZQuxRlDcgU7KErPGx3o34dmaJTSaYAmhgoHBXAOIHG95qPIo/uglRcmsdeBw==\n",
        ),
        (
            700,
            1_767_227_775,
            "— witness.example/w1 2e1ixQAAAABpVcF/VYJWjZK3I6tho+oa1D7/av4mKdhtwugOjT3ETqpQ4IDqJE3fKquPCmE9qJ13tjSYIhNsCw/aoPOyMCWHj0ABDg==\n",
        ),
    ] {
        let Ok(Answer::Cosigned(lines)) = Answer::read(200, Some("text/plain; charset=utf-8"), line.as_bytes()) else { panic!() };
        let (cosigned, cosignature) = append(&note(size), &lines, &witness).unwrap();
        assert_eq!(cosignature.time_seconds, time_seconds);
        assert_eq!(verify_cosigned(&cosigned, std::slice::from_ref(&witness), 1), Ok(vec![cosignature]));
        assert!(read_by_theirs(cosigned.as_bytes(), &key.verifying().to_string()).is_some());
        assert!(append(&note(size - 1), &lines, &witness).is_err(), "a cosignature of another tree");
    }
    for (status, kind, body, answer) in [
        (409, "text/x.tlog.size", "300\n", Answer::Has(300)),
        (422, "text/plain; charset=utf-8", "consistency proof from size 700 to 900 does not verify\n", Answer::Inconsistent),
        (
            422,
            "text/plain; charset=utf-8",
            "same tree size as the latest cosigned checkpoint but a different root hash\n",
            Answer::Inconsistent,
        ),
        (403, "text/plain; charset=utf-8", "no signature from a trusted key for this log\n", Answer::UnknownKey),
        (404, "text/plain; charset=utf-8", "unknown log origin\n", Answer::UnknownLog),
        (400, "text/plain; charset=utf-8", "bad request: the first line must be 'old <size>'\n", Answer::NotUnderstood),
    ] {
        assert_eq!(Answer::read(status, Some(kind), body.as_bytes()), Ok(answer), "{body}");
    }
}

const GRANTED: &str = "\
old 5
mJkwf510d0YSJXXt7rOWPHyDwCkkH4Kj0XuZlyh42w4=
2u7z+fKfUDBc6ypsrEFFKnbbBGOJ/58eJ4EDJY3pC7g=
aNgN+YgKj0GMw5Ig+I/AwZYU4zLb5ZQJ49SMlBSH3WU=
sV0rGwetramxO1VcCAYrGueK0bC36Z2X2ULJNqYkRDk=
mENPkxpvhewQRrXfgVNUxbq6a3NXJVsZDraazw9Dusw=
d5pG0dee0c9atkXreOdYyvv1KD+ibnXrt/CN7Ql4hdI=
Um2kC6meOeDYQcd/m/3HTFeZeNsaXIErVuMKpSyj/Cc=
mzucAENnzX/tmbQ5amQpFhl62fWurv4xQhHoWBnaFUo=
2aUZsYYmaGEcyp0FMVIi+ducWX49UQamiWM/mo+NQ7o=
4zNmXhNf/sJk+LWGjj++bd1eGinKErGFbpeaK1BH/f0=

example.com/placet
300
kJcpqcb0qWKBKkZXnxPSra0Dz30AFtViQ/5FhNC14Dw=

— example.com/placet KoCF+sDpV2bmkuVkkVr7vxunGhbUvlVfmPHDKry129Jouv+hmnoASgS3BB/tgjP017ADyABAZfBc7LQ9zIja4zy9Nwk=
";
