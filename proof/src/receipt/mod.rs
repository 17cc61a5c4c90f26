//! Decision receipts in COSE: a signed statement of what was decided (RFC 9943), and a receipt that proves a leaf of the log
//! (RFC 9942). Together they are a transparent statement.
//!
//! The statement is signed first. The event of the answer carries the statement's hash, and the event's leaf enters the tree. So
//! a third party follows this chain: the statement, its hash in the event's payload, the event's hash in the leaf, the path from
//! the leaf to the root, the root's signature. This module checks the last two links: [`verify_cose`] is given the leaf, and its
//! caller, who has the event, checks that the leaf is that event's and that the event carries [`Verified::statement_hash`].
//!
//! RFC 9942 signs the root alone. One path can lead to one root in trees of several sizes, so the size in a proof could
//! be changed unnoticed. Therefore the receipt's protected header repeats the size, and a size and a root together fix the index.
//!
//! Each statement and each receipt has one encoding. The reader walks along the form that the writer writes and takes no other,
//! so no byte can be changed, added or left out. The same key signs checkpoints: those begin with the log's name, which is a
//! text, and what is signed here begins with the byte 0x84, with which no text begins.

mod file;
mod form;
mod keys;

pub use self::file::{FILE_BYTES_MAX, FILE_VERSION, FileError, VerifiedFile, verify_file};
pub use self::form::{
    CONTENT_BYTES_MAX, CONTENT_TYPE, COSE_BYTES_MAX, PATH_HASHES_MAX, RECEIPT_BYTES_MAX, ReceiptError, SUBJECT_BYTES_MAX,
};
pub use self::keys::LogKeys;

use domain::base::sealed::Hash;

use self::ReceiptError::Form;
use self::form::{Claims, Proof, Signed, to_sign};
use crate::key::{SigningKey, VerifyingKey};
use crate::tree::{NodeHash, is_included};

/// A signed statement in the form in which it is registered: without receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    bytes: Vec<u8>,
}

impl Statement {
    /// Signs `content`, which is canonical JSON. `subject` is the id of the question. The same arguments give the same bytes.
    ///
    /// # Errors
    ///
    /// A content or a subject that is too long.
    pub fn sign(content: &[u8], subject: &str, key: &SigningKey) -> Result<Self, ReceiptError> {
        if content.len() > CONTENT_BYTES_MAX || subject.len() > SUBJECT_BYTES_MAX {
            return Err(ReceiptError::TooLong);
        }
        let protected = Claims::of(key.verifying(), subject).statement_header();
        let signature = key.sign(&to_sign(&protected, content));
        Ok(Self { bytes: Signed { protected: &protected, content, signature: &signature }.write(None) })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The hash of the bytes, which the event of the answer carries.
    pub fn hash(&self) -> Hash {
        Hash::of(&self.bytes)
    }
}

/// The content and the signature of a statement without receipts, as it was kept.
///
/// # Errors
///
/// Another form.
pub fn parts(statement: &[u8]) -> Result<(&[u8], &[u8]), ReceiptError> {
    match Signed::read(statement)? {
        (signed, None) => Ok((signed.content, signed.signature)),
        (_, Some(_)) => Err(Form("the statement has a receipt already")),
    }
}

/// The place of a leaf in a tree, and the path to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// The number of leaves of the tree.
    pub size: u64,
    /// The number of the leaf, from 0.
    pub index: u64,
    /// The hashes that lead from the leaf to the root, lowest first.
    pub path: Vec<NodeHash>,
    /// The root.
    pub root: NodeHash,
}

/// Signs a receipt for a leaf. The root and the size must be those of a checkpoint that this log signed: a receipt binds the log
/// to its root just as a checkpoint does.
///
/// # Errors
///
/// A subject that is too long, a path that does not lead from the leaf to the root, or a tree of one leaf, which has no path: RFC
/// 9942 demands at least one hash.
pub fn receipt(subject: &str, leaf: &[u8], inclusion: &Inclusion, key: &SigningKey) -> Result<Vec<u8>, ReceiptError> {
    let Inclusion { size, index, path, root } = inclusion;
    if subject.len() > SUBJECT_BYTES_MAX {
        return Err(ReceiptError::TooLong);
    }
    if path.is_empty() || !is_included(leaf, *index, path, *size, *root) {
        return Err(ReceiptError::Path);
    }
    let claims = Claims::of(key.verifying(), subject);
    let protected = claims.receipt_header(*size);
    let signature = key.sign(&to_sign(&protected, root));
    let (signed_size, size, index, path) = (*size, *size, *index, path.clone());
    Ok(Proof { protected: &protected, claims, signed_size, size, index, path, signature: &signature }.write())
}

/// Attaches a receipt to a statement. This looks at the form of both, and not at their signatures.
///
/// # Errors
///
/// Another form, or a receipt that names another log or subject.
pub fn transparent(statement: &[u8], receipt: &[u8]) -> Result<Vec<u8>, ReceiptError> {
    let (signed, None) = Signed::read(statement)? else { return Err(Form("the statement has a receipt already")) };
    if signed.claims()?.about() != Proof::read(receipt)?.claims.about() {
        return Err(ReceiptError::Apart);
    }
    Ok(signed.write(Some(receipt)))
}

/// The facts that a transparent statement proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The content, as it was signed.
    pub content: Vec<u8>,
    /// The name of the log that signed the statement and the receipt.
    pub origin: String,
    /// The subject of both.
    pub subject: String,
    /// The hash of the statement without its receipt. It must be the one in the event of the leaf.
    pub statement_hash: Hash,
    /// The number of leaves of the tree.
    pub size: u64,
    /// The number of the leaf, from 0.
    pub index: u64,
    /// The root of the tree.
    pub root: NodeHash,
}

/// Verifies a transparent statement: its form, the signature of the statement, and the signature of the receipt over the root to
/// which the path leads from `leaf`. Both signatures must be those of `keys`: the public keys that the caller trusts, or [`LogKeys`] with
/// earlier ones. The caller compares the event of the leaf with [`Verified::statement_hash`].
///
/// # Errors
///
/// The first reason not to accept it.
pub fn verify_cose<'a>(bytes: &[u8], leaf: &[u8], keys: impl Into<LogKeys<'a>>) -> Result<Verified, ReceiptError> {
    let keys = keys.into();
    let (signed, Some(receipt)) = Signed::read(bytes)? else { return Err(Form("the statement has no receipt")) };
    let (claims, proof) = (signed.claims()?, Proof::read(receipt)?);
    if claims.about() != proof.claims.about() {
        return Err(ReceiptError::Apart);
    }
    if !claims.is_signed_by(keys.of_statements(), &to_sign(signed.protected, signed.content), signed.signature)? {
        return Err(ReceiptError::StatementSignature);
    }
    let root = proof.root(leaf).ok_or(ReceiptError::Path)?;
    let is_signed_by =
        |keys: &[VerifyingKey]| proof.claims.is_signed_by(keys.iter(), &to_sign(proof.protected, &root), proof.signature);
    match is_signed_by(keys.trusted) {
        Ok(true) => {}
        Ok(false) => return Err(ReceiptError::ReceiptSignature),
        Err(ReceiptError::UnknownKey(origin)) if is_signed_by(keys.earlier) == Ok(true) => {
            return Err(ReceiptError::EarlierKey(origin));
        }
        Err(error) => return Err(error),
    }
    Ok(Verified {
        content: signed.content.to_vec(),
        origin: claims.origin.to_owned(),
        subject: claims.subject.to_owned(),
        statement_hash: Hash::of(&signed.write(None)),
        size: proof.size,
        index: proof.index,
        root,
    })
}
#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;
    use crate::tree::{Growth, LEAVES_MAX, TilesInMemory, Tree, leaf_hash};

    const CONTENT: &[u8] = br#"{"question":"Deploy?","value":true}"#;
    const ORIGIN: &str = "example.com/log";
    const ABOUT: &str = "0198b7c4-7d0a-7c39-9c0e-3f1f2a6f5d11";

    fn key(name: &str, seed: u8) -> SigningKey {
        SigningKey::new(name, &[seed; 32]).unwrap()
    }

    fn keys(key: &SigningKey) -> [VerifyingKey; 1] {
        [key.verifying().clone()]
    }

    fn leaf(index: u64) -> Vec<u8> {
        format!("leaf {index}").into_bytes()
    }

    fn kept(size: u64) -> TilesInMemory {
        let mut growth = Growth::begin(&mut TilesInMemory::new(), 0).unwrap();
        (0..size).for_each(|index| growth.push(leaf_hash(&leaf(index))));
        growth.into_tiles()
    }

    fn inclusion(kept: &TilesInMemory, size: u64, index: u64) -> Inclusion {
        let mut tree = Tree::new(kept.clone(), size);
        Inclusion { size, index, path: tree.inclusion(index).unwrap().unwrap(), root: tree.root().unwrap() }
    }

    fn made(size: u64, index: u64) -> Vec<u8> {
        let (key, inclusion) = (key(ORIGIN, 1), inclusion(&kept(size), size, index));
        let statement = Statement::sign(CONTENT, ABOUT, &key).unwrap();
        transparent(statement.bytes(), &receipt(ABOUT, &leaf(index), &inclusion, &key).unwrap()).unwrap()
    }

    fn refusal(bytes: &[u8], leaf: &[u8]) -> ReceiptError {
        verify_cose(bytes, leaf, &keys(&key(ORIGIN, 1))).unwrap_err()
    }

    /// Replaces `from`, which the bytes have once, by bytes of the same number.
    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        let [at] = places[..] else { panic!("{} places", places.len()) };
        [&bytes[..at], to, &bytes[at + from.len()..]].concat()
    }

    #[test]
    fn each_leaf_of_each_tree_is_proved() {
        let (key, kept) = (key(ORIGIN, 1), kept(300));
        let statement = Statement::sign(CONTENT, ABOUT, &key).unwrap();
        for size in [2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 100, 255, 256, 257, 300] {
            for index in (0..size).filter(|index| size < 20 || index % 13 == 0 || index + 3 > size) {
                let inclusion = inclusion(&kept, size, index);
                let receipt = receipt(ABOUT, &leaf(index), &inclusion, &key).unwrap();
                let bytes = transparent(statement.bytes(), &receipt).unwrap();
                let verified = Verified {
                    content: CONTENT.to_vec(),
                    origin: ORIGIN.into(),
                    subject: ABOUT.into(),
                    statement_hash: statement.hash(),
                    size,
                    index,
                    root: inclusion.root,
                };
                assert_eq!(verify_cose(&bytes, &leaf(index), &keys(&key)), Ok(verified));
                assert_eq!(refusal(&bytes, &leaf(index + 1)), ReceiptError::ReceiptSignature);
            }
        }
    }

    /// The bytes of one statement and one receipt, written out: the format is kept for as long as anybody keeps a receipt.
    #[test]
    fn the_bytes_are_those_of_the_format() {
        let key = key("log", 7);
        let statement = Statement::sign(b"{}", "s", &key).unwrap();
        let hash = key.verifying().hash();
        let header =
            [b"\xa4\x01\x27\x03\x78\x20", CONTENT_TYPE.as_bytes(), b"\x04\x44", &hash, b"\x0f\xa2\x01\x63log\x02\x61s"].concat();
        let covered = [b"\x84\x6aSignature1\x58\x36", &*header, b"\x40\x42{}"].concat();
        let signature = key.sign(&covered);
        let expected = [b"\xd2\x84\x58\x36", &*header, b"\xa0\x42{}\x58\x40", &signature].concat();
        assert_eq!(statement.bytes(), expected);

        let inclusion = inclusion(&kept(2), 2, 1);
        let receipt = receipt("s", &leaf(1), &inclusion, &key).unwrap();
        let header = [b"\xa5\x01\x27\x04\x44", &hash[..], b"\x0f\xa2\x01\x63log\x02\x61s\x19\x01\x8b\x01\x3aPLCT\x02"].concat();
        let covered = [b"\x84\x6aSignature1\x58\x1d", &*header, b"\x40\x58\x20", &inclusion.root].concat();
        let proof = [b"\x83\x02\x01\x81\x58\x20", &leaf_hash(&leaf(0))[..]].concat();
        let expected = [
            b"\xd2\x84\x58\x1d",
            &*header,
            b"\xa1\x19\x01\x8c\xa1\x20\x81\x58\x26",
            &proof,
            b"\xf6\x58\x40",
            &key.sign(&covered),
        ]
        .concat();
        assert_eq!(receipt, expected);

        let attached = [b"\xa1\x19\x01\x8a\x81\x58", &[u8::try_from(receipt.len()).unwrap()][..], &receipt].concat();
        let expected = replaced(statement.bytes(), b"\xa0\x42{}", &[&attached[..], b"\x42{}"].concat());
        assert_eq!(transparent(statement.bytes(), &receipt).unwrap(), expected);
    }

    #[test]
    fn each_change_of_a_byte_is_found() {
        for (size, index) in [(3, 0), (7, 6), (300, 17)] {
            let (bytes, leaf, keys) = (made(size, index), leaf(index), keys(&key(ORIGIN, 1)));
            assert!(verify_cose(&bytes, &leaf, &keys).is_ok());
            for (place, bit) in (0..bytes.len()).flat_map(|place| (0..8).map(move |bit| (place, bit))) {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << bit;
                assert!(verify_cose(&changed, &leaf, &keys).is_err(), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn a_part_and_more_than_the_whole_are_refused() {
        let (bytes, leaf) = (made(7, 2), leaf(2));
        for end in 0..bytes.len() {
            assert!(matches!(refusal(&bytes[..end], &leaf), Form(_)), "{end} bytes");
        }
        for more in 0..=u8::MAX {
            assert!(matches!(refusal(&[&bytes[..], &[more]].concat(), &leaf), Form(_)));
        }
        for place in 0..bytes.len() {
            let doubled = [&bytes[..=place], &bytes[place..]].concat();
            let dropped = [&bytes[..place], &bytes[place + 1..]].concat();
            refusal(&doubled, &leaf);
            refusal(&dropped, &leaf);
        }
    }

    #[test]
    fn other_keys_logs_and_subjects_are_told_apart() {
        let (bytes, leaf) = (made(7, 2), leaf(2));
        let refusal = |keys: &[VerifyingKey]| verify_cose(&bytes, &leaf, keys).unwrap_err();
        assert_eq!(refusal(&keys(&key(ORIGIN, 2))), ReceiptError::UnknownKey(ORIGIN.into()));
        assert_eq!(refusal(&keys(&key("other", 1))), ReceiptError::OtherOrigin(ORIGIN.into()));
        assert_eq!(refusal(&[]), ReceiptError::OtherOrigin(ORIGIN.into()));
        let several = [key("other", 1), key(ORIGIN, 2), key(ORIGIN, 1)].map(|key| key.verifying().clone());
        assert!(verify_cose(&bytes, &leaf, &several).is_ok());

        let (ours, inclusion) = (key(ORIGIN, 1), inclusion(&kept(7), 7, 2));
        let statement = Statement::sign(CONTENT, ABOUT, &ours).unwrap();
        let other_subject = receipt("another", &leaf, &inclusion, &ours).unwrap();
        let other_log = receipt(ABOUT, &leaf, &inclusion, &key("other", 1)).unwrap();
        for receipt in [other_subject, other_log] {
            assert_eq!(transparent(statement.bytes(), &receipt), Err(ReceiptError::Apart));
            let (signed, _) = Signed::read(statement.bytes()).unwrap();
            let attached = signed.write(Some(&receipt));
            let several = [key("other", 1), key(ORIGIN, 1)].map(|key| key.verifying().clone());
            assert_eq!(verify_cose(&attached, &leaf, &several), Err(ReceiptError::Apart));
        }
    }

    /// A log that changed its key signs receipts of older statements with the new key, so the old key is needed for the statement alone,
    /// and a thief of the old key cannot make the rest.
    #[test]
    fn an_earlier_key_counts_for_the_statement_alone() {
        let (leaf, inclusion) = (leaf(2), inclusion(&kept(7), 7, 2));
        let (old, new) = (key(ORIGIN, 1), key(ORIGIN, 2));
        let statement = Statement::sign(CONTENT, ABOUT, &old).unwrap();
        let signed_by = |key: &SigningKey| {
            let receipt = receipt(ABOUT, &leaf, &inclusion, key).unwrap();
            transparent(statement.bytes(), &receipt).unwrap()
        };
        let (fresh, forged) = (signed_by(&new), signed_by(&old));
        let [old, new, other] = [old, new, key("other", 1)].map(|key| [key.verifying().clone()]);
        let verify = |bytes: &[u8], trusted: &[VerifyingKey], earlier: &[VerifyingKey]| {
            verify_cose(bytes, &leaf, LogKeys { trusted, earlier }).map(|_| ())
        };
        assert_eq!(verify(&fresh, &new, &[]), Err(ReceiptError::UnknownKey(ORIGIN.into())));
        assert_eq!(verify(&fresh, &old, &[]), Err(ReceiptError::UnknownKey(ORIGIN.into())));
        assert_eq!(verify(&fresh, &new, &old), Ok(()));
        assert_eq!(verify(&forged, &new, &old), Err(ReceiptError::EarlierKey(ORIGIN.into())));
        assert_eq!(verify(&forged, &old, &new), Ok(()), "both are signed by the trusted key");
        let both = [&old[..], &new].concat();
        for bytes in [&fresh, &forged] {
            assert_eq!(verify(bytes, &both, &[]), Ok(()));
            assert_eq!(verify(bytes, &both, &old), Ok(()), "a key in both lists counts for everything");
        }
        assert_eq!(verify(&fresh, &[], &both), Err(ReceiptError::OtherOrigin(ORIGIN.into())));
        assert_eq!(verify(&forged, &other, &old), Err(ReceiptError::OtherOrigin(ORIGIN.into())));
        let sibling = leaf_hash(b"leaf 3");
        let changed = replaced(&forged, &sibling, &[0; 32]);
        assert_eq!(verify(&changed, &new, &old), Err(ReceiptError::UnknownKey(ORIGIN.into())), "no key signed that root");
        let changed = replaced(&fresh, b"true", b"null");
        assert_eq!(verify(&changed, &new, &old), Err(ReceiptError::StatementSignature));
    }

    /// The path of leaf 0 in a tree of three leaves has the shape of a path in a tree of four: the root would be the same.
    #[test]
    fn a_size_that_gives_the_same_root_is_refused() {
        let (bytes, leaf) = (made(3, 0), leaf(0));
        let other_size = replaced(&bytes, b"\x83\x03\x00\x82", b"\x83\x04\x00\x82");
        let (_, receipt) = Signed::read(&other_size).unwrap();
        let mut proof = Proof::read(receipt.unwrap()).unwrap();
        proof.signed_size = 4;
        assert_eq!(proof.root(&leaf), Some(inclusion(&kept(3), 3, 0).root), "the attack works without the signed size");
        assert_eq!(refusal(&other_size, &leaf), ReceiptError::Path);
        let both = replaced(&other_size, b"\x3aPLCT\x03", b"\x3aPLCT\x04");
        assert_eq!(refusal(&both, &leaf), ReceiptError::ReceiptSignature);
    }

    #[test]
    fn a_changed_content_signature_and_path_have_their_own_reasons() {
        let (bytes, leaf) = (made(7, 2), leaf(2));
        let changed = replaced(&bytes, b"true", b"null");
        assert_eq!(refusal(&changed, &leaf), ReceiptError::StatementSignature);
        let sibling = leaf_hash(b"leaf 3");
        assert_eq!(refusal(&replaced(&bytes, &sibling, &[0; 32]), &leaf), ReceiptError::ReceiptSignature);
        assert_eq!(refusal(&replaced(&bytes, b"\x83\x07\x02\x83", b"\x83\x07\x06\x83"), &leaf), ReceiptError::Path);
        assert_eq!(refusal(&replaced(&bytes, b"\x83\x07\x02\x83", b"\x83\x07\x07\x83"), &leaf), ReceiptError::Path);
        let key = key(ORIGIN, 1);
        let statement = Statement::sign(CONTENT, ABOUT, &key).unwrap();
        assert!(matches!(refusal(statement.bytes(), &leaf), Form("the statement has no receipt")));
        let (_, receipt) = Signed::read(&bytes).unwrap();
        assert!(matches!(transparent(&bytes, receipt.unwrap()), Err(Form(_))), "one receipt is enough");
        assert!(matches!(transparent(receipt.unwrap(), statement.bytes()), Err(Form(_))), "the one is not the other");
    }

    #[test]
    fn what_is_too_long_or_leads_elsewhere_is_not_signed() {
        let key = key(ORIGIN, 1);
        let (long, about) = (vec![b' '; CONTENT_BYTES_MAX], "x".repeat(SUBJECT_BYTES_MAX));
        assert!(Statement::sign(&long, &about, &key).is_ok());
        assert_eq!(Statement::sign(&[&long[..], b" "].concat(), ABOUT, &key), Err(ReceiptError::TooLong));
        assert_eq!(Statement::sign(CONTENT, &format!("{about}x"), &key), Err(ReceiptError::TooLong));
        let right = inclusion(&kept(7), 7, 2);
        let refusal = |inclusion: &Inclusion, leaf: &[u8]| receipt(ABOUT, leaf, inclusion, &key).unwrap_err();
        assert_eq!(receipt(&format!("{about}x"), &leaf(2), &right, &key), Err(ReceiptError::TooLong));
        assert_eq!(refusal(&right, &leaf(3)), ReceiptError::Path);
        assert_eq!(refusal(&Inclusion { root: [0; 32], ..right.clone() }, &leaf(2)), ReceiptError::Path);
        assert_eq!(refusal(&Inclusion { index: 7, ..right.clone() }, &leaf(2)), ReceiptError::Path);
        assert_eq!(refusal(&Inclusion { path: right.path[1..].to_vec(), ..right.clone() }, &leaf(2)), ReceiptError::Path);
        assert_eq!(refusal(&inclusion(&kept(1), 1, 0), &leaf(0)), ReceiptError::Path, "a tree of one leaf has no path");
        assert_eq!(refusal(&Inclusion { size: 0, index: 0, path: vec![], root: [0; 32] }, b""), ReceiptError::Path);
    }

    /// The longest receipt of all: the limits leave room for it.
    #[test]
    fn the_limits_fit_the_longest_receipt_and_no_longer_path() {
        assert_eq!(PATH_HASHES_MAX, LEAVES_MAX.ilog2() as usize);
        let key = key(&"\u{10348}".repeat(crate::key::NAME_CHARS_MAX), 1);
        let about = "x".repeat(SUBJECT_BYTES_MAX);
        let path = vec![[5; 32]; PATH_HASHES_MAX];
        // The path is followed upwards, so it leads to some root.
        let root = Proof {
            protected: &[],
            claims: Claims::of(key.verifying(), &about),
            signed_size: LEAVES_MAX,
            size: LEAVES_MAX,
            index: LEAVES_MAX - 1,
            path: path.clone(),
            signature: &[],
        };
        let root = root.root(b"leaf").unwrap();
        let longest = receipt(&about, b"leaf", &Inclusion { size: LEAVES_MAX, index: LEAVES_MAX - 1, path, root }, &key).unwrap();
        let statement = Statement::sign(&vec![b' '; CONTENT_BYTES_MAX], &about, &key).unwrap();
        let bytes = transparent(statement.bytes(), &longest).unwrap();
        assert!(verify_cose(&bytes, b"leaf", &keys(&key)).is_ok(), "{} and {}", longest.len(), bytes.len());

        let bytes = made(7, 2);
        let (_, receipt) = Signed::read(&bytes).unwrap();
        for hashes in [0, PATH_HASHES_MAX + 1, 60] {
            let mut proof = Proof::read(receipt.unwrap()).unwrap();
            proof.path = vec![[5; 32]; hashes];
            assert!(matches!(Proof::read(&proof.write()), Err(Form(_))), "{hashes} hashes");
            assert!(matches!(transparent(statement.bytes(), &proof.write()), Err(Form(_))), "{hashes} hashes");
        }
        let huge = [bytes, vec![0; COSE_BYTES_MAX]].concat();
        assert_eq!(refusal(&huge, b""), ReceiptError::TooLong);
        assert!(matches!(Proof::read(&huge), Err(ReceiptError::TooLong)));
    }

    /// Bytes of strangers: whatever comes is refused, and nothing panics.
    #[test]
    fn random_bytes_are_refused() {
        let mut random = ChaCha8Rng::seed_from_u64(9942);
        let (whole, leaf, keys) = (made(300, 200), leaf(200), keys(&key(ORIGIN, 1)));
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=random.next_u32() % 4 {
                let place = random.next_u32() as usize % bytes.len();
                match random.next_u32() % 4 {
                    0 => bytes[place] = 0xff,
                    1 => bytes.truncate(place + 1),
                    2 => bytes.insert(place, random.next_u32().to_be_bytes()[3]),
                    _ => bytes[place] = random.next_u32().to_be_bytes()[3],
                }
            }
            assert!(bytes == whole || verify_cose(&bytes, &leaf, &keys).is_err());
            random.fill_bytes(&mut bytes);
            assert!(verify_cose(&bytes, &leaf, &keys).is_err());
        }
        let nested = vec![0x81; COSE_BYTES_MAX];
        assert!(verify_cose(&nested, &leaf, &keys).is_err());
    }
}
