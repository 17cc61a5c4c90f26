//! The form of a statement and of a receipt, byte by byte: the parts of each, how they are written, and how they are read back.

use sha2::{Digest, Sha256};
use thiserror::Error;

use ReceiptError::Form;

use crate::cbor::{Reader, Writer};
use crate::key::VerifyingKey;
use crate::tree::{NodeHash, is_included, leaf_hash};

/// The media type of a statement's content.
pub const CONTENT_TYPE: &str = "application/placet-decision+json";
/// The most bytes of a statement's content. The limits of a question, of its context and of its answer add up to less.
pub const CONTENT_BYTES_MAX: usize = 512 * 1024;
/// The most bytes of the subject of a statement.
pub const SUBJECT_BYTES_MAX: usize = 200;
/// The most hashes between a leaf and the root: the height of a tree of [`LEAVES_MAX`](crate::tree::LEAVES_MAX) leaves.
pub const PATH_HASHES_MAX: usize = 48;
/// The most bytes of a receipt: its path, its headers with the longest names, and its signature.
pub const RECEIPT_BYTES_MAX: usize = 4 * 1024;
/// The most bytes of a transparent statement.
pub const COSE_BYTES_MAX: usize = CONTENT_BYTES_MAX + 2 * RECEIPT_BYTES_MAX;

/// The tag of a message with one signature (RFC 9052 §2).
const SIGN1_TAG: u64 = 18;
/// The first item of what a signature covers (RFC 9052 §4.4).
const SIGN1_CONTEXT: &str = "Signature1";
/// The labels of header parameters: algorithm, content type and key (RFC 9052 §3.1), claims (RFC 9597), receipts, kind of tree and
/// proofs (RFC 9942).
const ALGORITHM: i64 = 1;
const TYPE: i64 = 3;
const KEY: i64 = 4;
const CLAIMS: i64 = 15;
const RECEIPTS: i64 = 394;
const TREE_KIND: i64 = 395;
const PROOFS: i64 = 396;
/// The label of the signed number of leaves, from the range for private use (RFC 9052 §11.1). Its bytes spell PLCT, which makes
/// it unlikely that another product chose the same label.
const SIGNED_SIZE: i64 = -1 - 0x504c_4354;
/// The algorithm `EdDSA` (RFC 9053 §2.2). Readers of receipts know it, and do not yet know the newer number of Ed25519 alone.
const EDDSA: i64 = -8;
/// The kind of tree `RFC9162_SHA256`, and the label of its inclusion proofs (RFC 9942).
const RFC9162_SHA256: i64 = 1;
const INCLUSION: i64 = -1;
/// The claims that name who signed and what about (RFC 8392).
const ISSUER: i64 = 1;
const SUBJECT: i64 = 2;
/// The number of bytes of an Ed25519 signature.
const SIGNATURE_BYTES: usize = 64;

/// Why a receipt cannot be made, or is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReceiptError {
    /// A part is longer than any that this module writes.
    #[error("a receipt has at most {COSE_BYTES_MAX} bytes, its content {CONTENT_BYTES_MAX}, its subject {SUBJECT_BYTES_MAX}")]
    TooLong,
    /// The bytes have another form.
    #[error("this is not a decision receipt: {0}")]
    Form(&'static str),
    /// The statement and the receipt name different logs or subjects.
    #[error("the statement and its receipt do not belong together: they name different logs or subjects")]
    Apart,
    /// The receipt belongs to another log.
    #[error("the receipt belongs to the log \"{0}\"")]
    OtherOrigin(String),
    /// The log is known, and the key is not.
    #[error("the log \"{0}\" signed with a key that is not trusted")]
    UnknownKey(String),
    /// An earlier key signed the receipt of the statement.
    #[error(
        "an earlier key of the log \"{0}\" signed the receipt, and an earlier key counts for the statement alone; fetch the receipt \
         again from the server"
    )]
    EarlierKey(String),
    /// The statement's signature is wrong.
    #[error("the statement was changed: its signature is wrong")]
    StatementSignature,
    /// The path has another shape than the tree, or the tree another size than the signed one.
    #[error("the receipt was changed: its path does not fit a tree of that size")]
    Path,
    /// The root to which the path leads is not the signed one.
    #[error("the receipt does not prove this leaf: it belongs to another leaf, or was changed")]
    ReceiptSignature,
}

/// The bytes that a signature covers (RFC 9052 §4.4).
pub(super) fn to_sign(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    Writer::default().array(4).text(SIGN1_CONTEXT).bytes(protected).bytes(&[]).bytes(payload).done()
}

// The fixed parts follow, each up to the first byte that differs between messages. They are written and read by the same functions.

/// The head of a message with one signature.
fn sign1_start() -> Writer {
    Writer::default().tag(SIGN1_TAG).array(4)
}

/// A statement's protected header, up to its claims.
fn statement_start() -> Writer {
    Writer::default().map(4).integer(ALGORITHM).integer(EDDSA).integer(TYPE).text(CONTENT_TYPE)
}

/// A receipt's protected header, up to its claims.
fn receipt_start() -> Writer {
    Writer::default().map(5).integer(ALGORITHM).integer(EDDSA)
}

/// A receipt's protected header behind its claims, up to the number of leaves.
fn tree_start(header: Writer) -> Writer {
    header.integer(TREE_KIND).integer(RFC9162_SHA256).integer(SIGNED_SIZE)
}

/// A receipt's unprotected header, up to its one proof.
fn proof_start(message: Writer) -> Writer {
    message.map(1).integer(PROOFS).map(1).integer(INCLUSION).array(1)
}

/// The unprotected header of a statement that has a receipt, up to the receipt.
fn receipts_start(message: Writer) -> Writer {
    message.map(1).integer(RECEIPTS).array(1)
}

/// The signer and the subject: the part of a protected header that statements and receipts have alike.
pub(super) struct Claims<'a> {
    key: [u8; 4],
    /// The name of the log.
    pub(super) origin: &'a str,
    /// The id of the question.
    pub(super) subject: &'a str,
}

impl<'a> Claims<'a> {
    pub(super) fn of(key: &'a VerifyingKey, subject: &'a str) -> Self {
        Self { key: key.hash(), origin: key.name(), subject }
    }

    /// The protected header of a statement.
    pub(super) fn statement_header(&self) -> Vec<u8> {
        self.write(statement_start()).done()
    }

    /// The protected header of a receipt in a tree of `size` leaves.
    pub(super) fn receipt_header(&self, size: u64) -> Vec<u8> {
        tree_start(self.write(receipt_start())).unsigned(size).done()
    }

    fn write(&self, header: Writer) -> Writer {
        let header = header.integer(KEY).bytes(&self.key).integer(CLAIMS).map(2);
        header.integer(ISSUER).text(self.origin).integer(SUBJECT).text(self.subject)
    }

    fn read(header: &mut Reader<'a>) -> Option<Self> {
        header.exactly(&Writer::default().integer(KEY))?;
        let key = header.bytes()?.try_into().ok()?;
        header.exactly(&Writer::default().integer(CLAIMS).map(2).integer(ISSUER))?;
        let origin = header.text()?;
        header.exactly(&Writer::default().integer(SUBJECT))?;
        Some(Self { key, origin, subject: header.text()? })
    }

    pub(super) fn about(&self) -> (&'a str, &'a str) {
        (self.origin, self.subject)
    }

    /// Whether the key that these claims name made the signature. More than one of `keys` may have that name and hash.
    pub(super) fn is_signed_by<'k>(
        &self,
        keys: impl Iterator<Item = &'k VerifyingKey>,
        text: &[u8],
        signature: &[u8],
    ) -> Result<bool, ReceiptError> {
        let mut of_log = keys.filter(|key| key.name() == self.origin).peekable();
        if of_log.peek().is_none() {
            return Err(ReceiptError::OtherOrigin(self.origin.to_owned()));
        }
        let mut named = of_log.filter(|key| key.hash() == self.key).peekable();
        if named.peek().is_none() {
            return Err(ReceiptError::UnknownKey(self.origin.to_owned()));
        }
        Ok(named.any(|key| key.verifies(text, signature)))
    }
}

/// A statement's parts.
pub(super) struct Signed<'a> {
    pub(super) protected: &'a [u8],
    pub(super) content: &'a [u8],
    pub(super) signature: &'a [u8],
}

impl<'a> Signed<'a> {
    pub(super) fn write(&self, receipt: Option<&[u8]>) -> Vec<u8> {
        let message = sign1_start().bytes(self.protected);
        let message = match receipt {
            None => message.map(0),
            Some(receipt) => receipts_start(message).bytes(receipt),
        };
        message.bytes(self.content).bytes(self.signature).done()
    }

    /// Takes a statement apart, and gives its receipt if it has one.
    pub(super) fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), ReceiptError> {
        if bytes.len() > COSE_BYTES_MAX {
            return Err(ReceiptError::TooLong);
        }
        let read = || {
            let mut message = Reader::new(bytes);
            message.exactly(&sign1_start())?;
            let protected = message.bytes()?;
            let receipt = match message.exactly(&receipts_start(Writer::default())) {
                Some(()) => Some(message.bytes()?),
                None => message.exactly(&Writer::default().map(0)).map(|()| None)?,
            };
            let (content, signature) = (message.bytes()?, message.bytes()?);
            message.end()?;
            (signature.len() == SIGNATURE_BYTES).then_some((Self { protected, content, signature }, receipt))
        };
        read().ok_or(Form("its bytes are not a statement with one signature, or not in the deterministic encoding"))
    }

    pub(super) fn claims(&self) -> Result<Claims<'a>, ReceiptError> {
        let read = || {
            let mut header = Reader::new(self.protected);
            header.exactly(&statement_start())?;
            let claims = Claims::read(&mut header)?;
            header.end().map(|()| claims)
        };
        let claims = read().ok_or(Form("the statement's header is not that of a decision"))?;
        if self.content.len() > CONTENT_BYTES_MAX || claims.subject.len() > SUBJECT_BYTES_MAX {
            return Err(ReceiptError::TooLong);
        }
        Ok(claims)
    }
}

/// A receipt's parts.
pub(super) struct Proof<'a> {
    pub(super) protected: &'a [u8],
    pub(super) claims: Claims<'a>,
    /// The number of leaves in the protected header.
    pub(super) signed_size: u64,
    /// The number of leaves beside the path.
    pub(super) size: u64,
    pub(super) index: u64,
    pub(super) path: Vec<NodeHash>,
    pub(super) signature: &'a [u8],
}

impl<'a> Proof<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let proof = Writer::default().array(3).unsigned(self.size).unsigned(self.index).array(self.path.len() as u64);
        let proof = self.path.iter().fold(proof, |proof, hash| proof.bytes(hash)).done();
        proof_start(sign1_start().bytes(self.protected)).bytes(&proof).null().bytes(self.signature).done()
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ReceiptError> {
        if bytes.len() > RECEIPT_BYTES_MAX {
            return Err(ReceiptError::TooLong);
        }
        let read = || {
            let mut message = Reader::new(bytes);
            message.exactly(&sign1_start())?;
            let protected = message.bytes()?;
            message.exactly(&proof_start(Writer::default()))?;
            let mut proof = Reader::new(message.bytes()?);
            message.exactly(&Writer::default().null())?;
            let signature = message.bytes()?;
            message.end()?;

            let mut header = Reader::new(protected);
            header.exactly(&receipt_start())?;
            let claims = Claims::read(&mut header)?;
            header.exactly(&tree_start(Writer::default()))?;
            let signed_size = header.unsigned()?;
            header.end()?;

            proof.exactly(&Writer::default().array(3))?;
            let (size, index) = (proof.unsigned()?, proof.unsigned()?);
            let hashes = usize::try_from(proof.array()?).ok().filter(|hashes| (1..=PATH_HASHES_MAX).contains(hashes))?;
            let path = (0..hashes).map(|_| proof.bytes()?.try_into().ok()).collect::<Option<_>>()?;
            proof.end()?;
            (signature.len() == SIGNATURE_BYTES).then_some(Self { protected, claims, signed_size, size, index, path, signature })
        };
        read().ok_or(Form("the receipt has another form, or is not in the deterministic encoding"))
    }

    /// The root to which the path leads from this leaf; `None` if the path has not the shape that the signed size and the index
    /// demand.
    pub(super) fn root(&self, leaf: &[u8]) -> Option<NodeHash> {
        if self.size != self.signed_size {
            return None;
        }
        let (mut at, mut last) = (self.index, self.size.checked_sub(1)?);
        let root = self.path.iter().fold(leaf_hash(leaf), |hash, sibling| {
            // On the right edge a node may have no sibling on its level; then it is its own parent there.
            while at == last && at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
            let (left, right) = if at & 1 == 1 { (sibling, &hash) } else { (&hash, sibling) };
            (at, last) = (at >> 1, last >> 1);
            Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
        });
        // The fold above follows a path of the right shape. Whether the path has it is for the tree to say.
        is_included(leaf, self.index, &self.path, self.size, root).then_some(root)
    }
}
