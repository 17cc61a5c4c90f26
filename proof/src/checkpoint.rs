//! Checkpoints: the size and the root of the tree, signed (C2SP `tlog-checkpoint`, a signed note).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use crate::key::{SigningKey, VerifyingKey};
use crate::tree::NodeHash;

/// The dash with which a line of a signature begins, and the space behind it.
const SIGNATURE: &str = "\u{2014} ";
/// The most bytes of a checkpoint: a few lines, and the signatures of witnesses.
pub const CHECKPOINT_BYTES_MAX: usize = 16 * 1024;
/// The most signatures of a checkpoint: the log's own, and those of witnesses.
pub const SIGNATURES_MAX: usize = 64;

/// The head of a tree: what a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// The name of the log.
    pub origin: String,
    /// The number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: NodeHash,
}

/// Why a text is no checkpoint, or not one of this log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// The text is too long.
    #[error("a checkpoint has at most {CHECKPOINT_BYTES_MAX} bytes and {SIGNATURES_MAX} signatures")]
    TooLong,
    /// The text has another form.
    #[error("this is not a checkpoint: {0}")]
    Form(&'static str),
    /// The checkpoint belongs to another log.
    #[error("the checkpoint belongs to the log \"{0}\"")]
    OtherOrigin(String),
    /// No trusted key has signed it.
    #[error("no trusted key has signed the checkpoint")]
    NotSigned,
    /// A line claims to be a trusted key's signature and is not.
    #[error("the signature of the key {0} is wrong")]
    WrongSignature(String),
}

impl TreeHead {
    /// The lines that are signed.
    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root))
    }

    /// Signs the head. The origin of the checkpoint is the name of the key.
    pub fn sign(size: u64, root: NodeHash, key: &SigningKey) -> String {
        let text = Self { origin: key.verifying().name().to_owned(), size, root }.text();
        let line = signature_line(key, text.as_bytes());
        format!("{text}\n{line}")
    }

    /// Reads a checkpoint without looking at its signatures.
    ///
    /// # Errors
    ///
    /// Another form, or a text that is too long.
    pub fn read(note: &str) -> Result<Self, CheckpointError> {
        Note::read(note).map(|note| note.head)
    }

    /// Reads a checkpoint that one of `keys` has signed. All signatures that name one of the keys must be right; others are not
    /// looked at.
    ///
    /// # Errors
    ///
    /// Another form, another log, a wrong signature, or no signature of these keys.
    pub fn verify(note: &str, keys: &[VerifyingKey]) -> Result<Self, CheckpointError> {
        let Note { text, signatures, head } = Note::read(note)?;
        if !keys.iter().any(|key| key.name() == head.origin) {
            return Err(CheckpointError::OtherOrigin(head.origin));
        }
        let mut is_signed = false;
        for (name, signature) in signatures {
            let Some((hash, signature)) = signature.split_first_chunk::<4>() else { continue };
            for key in keys.iter().filter(|key| key.name() == name && key.name() == head.origin && key.hash() == *hash) {
                if !key.verifies(text.as_bytes(), signature) {
                    return Err(CheckpointError::WrongSignature(key.to_string()));
                }
                is_signed = true;
            }
        }
        if is_signed { Ok(head) } else { Err(CheckpointError::NotSigned) }
    }
}

/// The line of a note with the key's signature of `text`.
fn signature_line(key: &SigningKey, text: &[u8]) -> String {
    line(key.verifying().name(), &[&key.verifying().hash()[..], &key.sign(text)].concat())
}

/// The line of a note with this signature, which begins with the key's hash.
pub(crate) fn line(name: &str, signature: &[u8]) -> String {
    format!("{SIGNATURE}{name} {}\n", STANDARD.encode(signature))
}

/// Reads the lines of signatures of a note: of each, the key's name, and the bytes, of which the first four are the key's hash.
pub(crate) fn signatures(lines: &str) -> Result<Vec<(&str, Vec<u8>)>, CheckpointError> {
    use CheckpointError::{Form, TooLong};
    let lines = lines.strip_suffix('\n').ok_or(Form("its last line does not end"))?;
    let is_odd = |character: char| character.is_whitespace() || character == '+';
    let signature = |line| {
        let (name, signature) = str::strip_prefix(line, SIGNATURE)?.split_once(' ')?;
        Some((name, STANDARD.decode(signature).ok().filter(|signature| signature.len() > 4)?))
            .filter(|(name, _)| !name.is_empty() && !name.contains(is_odd))
    };
    let signatures: Option<Vec<_>> = lines.split('\n').map(signature).collect();
    let signatures = signatures.ok_or(Form("a line of its signatures has another form"))?;
    if signatures.len() > SIGNATURES_MAX { Err(TooLong) } else { Ok(signatures) }
}

/// The checkpoints of a file that may hold several, each with an empty line behind it. The pieces are not looked at otherwise: the last
/// one may be the beginning of a checkpoint.
pub fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut at, mut is_behind_signature) = (Vec::new(), 0, 0, false);
    for line in text.split_inclusive('\n') {
        if line == "\n" && is_behind_signature {
            pieces.push(&text[start..at]);
            start = at + 1;
        }
        is_behind_signature = line.starts_with(SIGNATURE);
        at += line.len();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// The part of a checkpoint up to its first signature, which is the log's own: a log adds those of witnesses behind it.
pub fn without_cosignatures(note: &str) -> &str {
    let own = note.find("\n\n").map(|end| end + 2).and_then(|from| note[from..].find('\n').map(|line| from + line + 1));
    own.map_or(note, |end| &note[..end])
}

/// A signed note, taken apart.
pub(crate) struct Note<'a> {
    /// The lines that are signed.
    pub(crate) text: &'a str,
    /// The lines of signatures: the key's name, and the bytes, of which the first four are the key's hash.
    pub(crate) signatures: Vec<(&'a str, Vec<u8>)>,
    /// The head that the lines state.
    pub(crate) head: TreeHead,
}

impl<'a> Note<'a> {
    pub(crate) fn read(note: &'a str) -> Result<Self, CheckpointError> {
        use CheckpointError::{Form, TooLong};
        if note.len() > CHECKPOINT_BYTES_MAX {
            return Err(TooLong);
        }
        if note.chars().any(|character| character.is_control() && character != '\n') {
            return Err(Form("it has a control character"));
        }
        let end = note.rfind("\n\n").ok_or(Form("no empty line stands before the signatures"))?;
        let (text, lines) = (&note[..=end], &note[end + 2..]);
        let signatures = signatures(lines)?;
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(Form("it has fewer than three lines"));
        };
        let number: u64 = size.parse().map_err(|_| Form("its second line is not a number of leaves"))?;
        if number.to_string() != size || origin.is_empty() {
            return Err(Form("its first line is empty, or its second line is not a number of leaves"));
        }
        let root = STANDARD.decode(root).ok().and_then(|root| root.try_into().ok());
        let root = root.ok_or(Form("its third line is not a hash of 32 bytes in base64"))?;
        Ok(Self { text, signatures, head: TreeHead { origin: origin.to_owned(), size: number, root } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, seed: u8) -> SigningKey {
        SigningKey::new(name, &[seed; 32]).unwrap()
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_signed() {
        let key = key("example.com/log", 1);
        let note = TreeHead::sign(7, [3; 32], &key);
        let head = TreeHead { origin: "example.com/log".into(), size: 7, root: [3; 32] };
        assert_eq!(TreeHead::verify(&note, &[key.verifying().clone()]), Ok(head.clone()));
        assert_eq!(TreeHead::read(&note), Ok(head));
    }

    /// Each changed byte is found: the text is signed, and the signature has one form.
    #[test]
    fn each_change_of_a_byte_is_found() {
        let key = key("example.com/log", 1);
        let (note, keys) = (TreeHead::sign(70, [3; 32], &key), [key.verifying().clone()]);
        for place in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[place] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(TreeHead::verify(&changed, &keys).is_err(), "{changed}");
        }
    }

    #[test]
    fn another_log_another_key_and_no_signature_are_told_apart() {
        let (ours, other) = (key("ours", 1), key("other", 1));
        let note = TreeHead::sign(7, [3; 32], &ours);
        let verify = |note: &str, key: &SigningKey| TreeHead::verify(note, &[key.verifying().clone()]).unwrap_err();
        assert_eq!(verify(&note, &other), CheckpointError::OtherOrigin("ours".into()));
        assert_eq!(verify(&note, &key("ours", 2)), CheckpointError::NotSigned);
        let forged = note.replacen('7', "8", 1);
        assert_eq!(verify(&forged, &ours), CheckpointError::WrongSignature(ours.verifying().to_string()));
    }

    /// A file of checkpoints is read as it was written, also if it ends within one.
    #[test]
    fn a_file_of_checkpoints_is_taken_apart() {
        let (ours, witness) = (key("ours", 1), key("witness", 2));
        let (first, second) = (TreeHead::sign(7, [3; 32], &ours), TreeHead::sign(9, [4; 32], &ours));
        let cosigned = format!("{second}{}", signature_line(&witness, b"text"));
        assert_eq!(pieces(&first), [&first], "one checkpoint, without an empty line behind it");
        assert_eq!(pieces(&format!("{first}\n{cosigned}\n")), [&first, &cosigned]);
        let whole = format!("{first}\n{second}\n");
        for end in first.len() + 2..whole.len() {
            let Some(begun) = whole.get(..end) else { continue };
            assert_eq!(pieces(begun), [first.as_str(), &begun[first.len() + 1..]]);
        }
        assert!(pieces("").is_empty());
        assert_eq!(without_cosignatures(&cosigned), second);
        assert_eq!(without_cosignatures(&second), second);
        assert_eq!(without_cosignatures("no note"), "no note");
    }

    #[test]
    fn further_signatures_and_lines_do_not_disturb() {
        let (ours, witness) = (key("ours", 1), key("witness", 2));
        let text = format!("{}an extension\n", TreeHead { origin: "ours".into(), size: 1, root: [0; 32] }.text());
        let note = format!("{text}\n{}{}", signature_line(&ours, text.as_bytes()), signature_line(&witness, b"another text"));
        assert!(TreeHead::verify(&note, &[ours.verifying().clone()]).is_ok());
        // A signature that names a trusted key must be right; a witness does not count as the log.
        let both = [ours.verifying().clone(), witness.verifying().clone()];
        assert!(TreeHead::verify(&note, &both).is_ok(), "a witness signs under a name of its own");
    }

    #[test]
    fn a_text_that_is_no_checkpoint_is_refused() {
        let note = TreeHead::sign(7, [3; 32], &key("ours", 1));
        for text in [
            String::new(),
            "\n\n".into(),
            note.trim_end().into(),
            note.replacen('7', "07", 1),
            note.replacen('7', "-1", 1),
            note.replacen("\n7\n", "\n7\r\n", 1),
            note.replacen("\n\n", "\n", 1),
            format!("{note}{}", "\u{2014} x AAAAAAAA\n".repeat(SIGNATURES_MAX)),
            format!("{note}{}", "x".repeat(CHECKPOINT_BYTES_MAX)),
        ] {
            assert!(TreeHead::read(&text).is_err(), "{text}");
        }
        let full = format!("{note}{}", "\u{2014} x AAAAAAAA\n".repeat(SIGNATURES_MAX - 1));
        assert!(TreeHead::read(&full).is_ok(), "{:?}", TreeHead::read(&full));
    }
}
