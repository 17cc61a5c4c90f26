//! The messages between a log and a witness (C2SP `tlog-witness`), and the cosignatures that come of it (C2SP
//! `tlog-cosignature`).
//!
//! A witness cosigns a checkpoint if the tree extends the one that it cosigned before. So a log that shows two readers two histories
//! must find a witness that cosigns both, or do without. This module forms the request and judges the answer; it sends nothing.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::checkpoint::{CheckpointError, Note, line, signatures};
use crate::key::{NAME_CHARS_MAX, check_name};
use crate::tree::NodeHash;

/// The path below a witness's address to which a request is posted.
pub const PATH: &str = "/add-checkpoint";
/// The most hashes of a consistency proof in a request.
pub const PROOF_HASHES_MAX: usize = 63;
/// The most bytes of an answer. A witness may send signatures of several kinds; the largest in use has 3.3 KiB.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024;
/// The type of the answer of a witness that holds a tree of another size.
pub const SIZE_TYPE: &str = "text/x.tlog.size";
/// The last time that a cosignature can bear, in seconds since 1970.
pub const TIME_SECONDS_MAX: u64 = (1 << 63) - 1;
/// The byte that says Ed25519 cosignature in a signed note's key.
const COSIGNATURE_KIND: u8 = 4;
/// The first line of what a witness signs.
const HEADER: &str = "cosignature/v1";

/// Why a request cannot be made, an answer not be used, or a checkpoint not be taken as cosigned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WitnessError {
    /// A name that a signed note cannot carry.
    #[error("a witness's name has 1 to {NAME_CHARS_MAX} characters, and neither spaces nor plus signs")]
    Name,
    /// A key in another form or of another kind.
    #[error("a witness's key is written NAME+HASH+BASE64, and is an Ed25519 key for cosignatures, whose BASE64 begins with B")]
    Key,
    /// A key whose hash does not belong to its name and bytes.
    #[error("the hash within the witness's key does not belong to the key; was a part of it lost?")]
    KeyHash,
    /// The note is no checkpoint, or has grown too long.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The old tree is larger than that of the checkpoint.
    #[error("the witness is to extend a tree of {old} leaves by a checkpoint of {size} leaves")]
    Smaller {
        /// The size of the tree that the witness has.
        old: u64,
        /// The size of the checkpoint's tree.
        size: u64,
    },
    /// The proof cannot be one between these sizes.
    #[error("a proof has 1 to {PROOF_HASHES_MAX} hashes, and none if the old tree is empty or the same")]
    Proof,
    /// The answer is too long.
    #[error("a witness's answer has at most {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    /// The answer has another form.
    #[error("the witness's answer is not understood: {0}")]
    Answer(&'static str),
    /// The answer has a status that the protocol does not know.
    #[error("the witness answered with the status {0}")]
    Status(u16),
    /// The answer does not hold what was asked for.
    #[error("the answer has no cosignature of the witness \"{0}\"")]
    NoCosignature(String),
    /// A line claims to be a known witness's and is not.
    #[error("the cosignature of the witness {0} is wrong")]
    WrongCosignature(String),
    /// Too few witnesses.
    #[error("{found} of the known witnesses have cosigned the checkpoint, and {needed} are needed")]
    NotEnough {
        /// How many have.
        found: usize,
        /// How many must.
        needed: usize,
    },
}

/// A witness's public key and name.
#[derive(Clone, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    public: [u8; 32],
}

impl WitnessKey {
    /// The key of the witness of this name.
    ///
    /// # Errors
    ///
    /// A name that a signed note cannot carry.
    pub fn new(name: &str, public: [u8; 32]) -> Result<Self, WitnessError> {
        check_name(name).map_err(|_| WitnessError::Name)?;
        Ok(Self { name: name.to_owned(), public })
    }

    /// The name of the witness.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The 32 bytes of the key.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// The four bytes by which a signature names its key.
    pub fn hash(&self) -> [u8; 4] {
        let digest =
            Sha256::new_with_prefix(&self.name).chain_update([b'\n', COSIGNATURE_KIND]).chain_update(self.public).finalize();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The newest cosignature of this witness among the lines of a note: its time and bytes. All of them must be right.
    fn newest<'a>(&self, text: &str, signatures: &'a [(&str, Vec<u8>)]) -> Result<Option<(u64, &'a [u8])>, WitnessError> {
        let mut newest = None;
        for (_, bytes) in signatures.iter().filter(|line| self.is_named_by(line)) {
            let time = self.time(text, bytes).ok_or_else(|| WitnessError::WrongCosignature(self.to_string()))?;
            newest = newest.max(Some((time, bytes.as_slice())));
        }
        Ok(newest)
    }

    /// Whether a line of a note names this key.
    fn is_named_by(&self, (name, bytes): &(&str, Vec<u8>)) -> bool {
        *name == self.name && bytes.starts_with(&self.hash())
    }

    /// When this witness cosigned the text, if these bytes are its cosignature.
    fn time(&self, text: &str, bytes: &[u8]) -> Option<u64> {
        let (time, signature) = bytes.get(4..)?.split_first_chunk::<8>()?;
        // A witness must not leave the time out, which it would by writing zero.
        let time = Some(u64::from_be_bytes(*time)).filter(|time| (1..=TIME_SECONDS_MAX).contains(time))?;
        let signed = format!("{HEADER}\ntime {time}\n{text}");
        UnparsedPublicKey::new(&ED25519, self.public).verify(signed.as_bytes(), signature).ok().map(|()| time)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind_and_key = [&[COSIGNATURE_KIND][..], &self.public].concat();
        write!(f, "{}+{:08x}+{}", self.name, u32::from_be_bytes(self.hash()), STANDARD.encode(kind_and_key))
    }
}

impl fmt::Debug for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for WitnessKey {
    type Err = WitnessError;

    fn from_str(text: &str) -> Result<Self, WitnessError> {
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(WitnessError::Key);
        };
        let key = STANDARD.decode(key).map_err(|_| WitnessError::Key)?;
        let Some((&COSIGNATURE_KIND, public)) = key.split_first() else { return Err(WitnessError::Key) };
        let read = Self::new(name, public.try_into().map_err(|_| WitnessError::Key)?)?;
        if format!("{:08x}", u32::from_be_bytes(read.hash())) != hash {
            return Err(WitnessError::KeyHash);
        }
        Ok(read)
    }
}

/// The body of the request that asks a witness to cosign a checkpoint, whose last one had `old` leaves (0 if it has none, or if that
/// is not known: then its answer tells). The proof is that of [`Tree::consistency`](crate::tree::Tree::consistency).
///
/// # Errors
///
/// A note that is no checkpoint, or sizes and a proof that do not go together. Whether the proof is right is not looked at.
pub fn request(old: u64, proof: &[NodeHash], note: &str) -> Result<String, WitnessError> {
    let size = Note::read(note)?.head.size;
    if old > size {
        return Err(WitnessError::Smaller { old, size });
    }
    let needs_no_proof = old == 0 || old == size;
    if proof.len() > PROOF_HASHES_MAX || proof.is_empty() != needs_no_proof {
        return Err(WitnessError::Proof);
    }
    let proof = proof.iter().fold(String::new(), |lines, hash| lines + &STANDARD.encode(hash) + "\n");
    Ok(format!("old {old}\n{proof}\n{note}"))
}

/// The answer of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has cosigned. These are lines of signatures, which [`append`] checks.
    Cosigned(String),
    /// The last checkpoint that it cosigned has this many leaves, and not as many as the request said: ask again from there.
    Has(u64),
    /// It does not know the log.
    UnknownLog,
    /// It knows the log, and no key of it has signed the checkpoint.
    UnknownKey,
    /// The checkpoint does not extend the one that it cosigned before, or the proof does not show it. Somebody should look.
    Inconsistent,
    /// It does not understand the request.
    NotUnderstood,
    /// It cannot answer now. The same request may succeed later.
    Later,
}

impl Answer {
    /// Reads an answer from its status, its content type and its body.
    ///
    /// # Errors
    ///
    /// An answer that is too long, of another form, or with a status that the protocol does not know.
    pub fn read(status: u16, content_type: Option<&str>, body: &[u8]) -> Result<Self, WitnessError> {
        if body.len() > ANSWER_BYTES_MAX {
            return Err(WitnessError::TooLong);
        }
        match status {
            200 => {
                let lines = str::from_utf8(body).map_err(|_| WitnessError::Answer("its text is not UTF-8"))?;
                let is_odd = |character: char| character.is_control() && character != '\n';
                if lines.contains(is_odd) || signatures(lines).is_err() {
                    return Err(WitnessError::Answer("its lines are not those of signatures"));
                }
                Ok(Self::Cosigned(lines.to_owned()))
            }
            409 if content_type.is_some_and(|kind| kind.eq_ignore_ascii_case(SIZE_TYPE)) => {
                size(body).map(Self::Has).ok_or(WitnessError::Answer("the size that it has is not a number and a line end"))
            }
            // Version 1.0.0 of the protocol has 409 without a size for another root of the same size.
            409 | 422 => Ok(Self::Inconsistent),
            404 => Ok(Self::UnknownLog),
            403 => Ok(Self::UnknownKey),
            400 => Ok(Self::NotUnderstood),
            408 | 429 | 500..=599 => Ok(Self::Later),
            other => Err(WitnessError::Status(other)),
        }
    }
}

/// The number of an answer that is a size: decimal, without leading zeroes, and with the end of the line.
fn size(body: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(body).ok()?.strip_suffix('\n')?;
    let size: u64 = digits.parse().ok()?;
    (size.to_string() == digits).then_some(size)
}

/// A witness's statement that it knew no larger tree of the log at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosignature {
    /// The name of the witness.
    pub witness: String,
    /// When it signed, in seconds since 1970, by its own clock. It may lie in the future.
    pub time_seconds: u64,
}

/// Adds the cosignature of a witness to a checkpoint, from the lines of [`Answer::Cosigned`]. Lines of other keys are dropped; an
/// older cosignature of the same key is replaced.
///
/// # Errors
///
/// No cosignature of this witness among the lines, a wrong one, or a checkpoint that would become too long.
pub fn append(note: &str, lines: &str, witness: &WitnessKey) -> Result<(String, Cosignature), WitnessError> {
    let Note { text, signatures: present, .. } = Note::read(note)?;
    let answered = signatures(lines)?;
    let answered = witness.newest(text, &answered)?.ok_or_else(|| WitnessError::NoCosignature(witness.name.clone()))?;
    let (time_seconds, bytes) = witness.newest(text, &present)?.map_or(answered, |present| present.max(answered));
    let others = present.iter().filter(|line| !witness.is_named_by(line));
    let others = others.fold(String::new(), |lines, (name, bytes)| lines + &line(name, bytes));
    let cosigned = format!("{text}\n{others}{}", line(&witness.name, bytes));
    Note::read(&cosigned)?;
    Ok((cosigned, Cosignature { witness: witness.name.clone(), time_seconds }))
}

/// The cosignatures of these witnesses on a checkpoint, if there are at least `needed`. Signatures of other keys are not looked at.
///
/// Keys that share a name or their bytes belong to one witness and count once, because what is signed does not name the witness.
/// This says nothing of the log's own signature: see [`TreeHead::verify`](crate::checkpoint::TreeHead::verify).
///
/// # Errors
///
/// A note that is no checkpoint, a wrong cosignature in the name of one of the keys, or too few.
pub fn verify_cosigned(note: &str, witnesses: &[WitnessKey], needed: usize) -> Result<Vec<Cosignature>, WitnessError> {
    let Note { text, signatures, .. } = Note::read(note)?;
    let mut found: Vec<(&WitnessKey, Cosignature)> = Vec::new();
    for witness in witnesses {
        let Some((time_seconds, _)) = witness.newest(text, &signatures)? else { continue };
        if !found.iter().any(|(other, _)| other.name == witness.name || other.public == witness.public) {
            found.push((witness, Cosignature { witness: witness.name.clone(), time_seconds }));
        }
    }
    if found.len() < needed {
        return Err(WitnessError::NotEnough { found: found.len(), needed });
    }
    Ok(found.into_iter().map(|(_, cosignature)| cosignature).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::TreeHead;
    use crate::key::SigningKey;

    /// A checkpoint of a log of Sigsum's, as the crate `sigsum` 0.3.0 quotes it, with the cosignatures of eight witnesses, each
    /// of another operator.
    const COSIGNED: &str = "\
sigsum.org/v1/tree/1643169b32bef33a3f54f8a353b87c475d19b6223cbb106390d10a29978e1cba
381382
kB/vxvHZeNLCvtuC1Eh1W83H6GJuZ6x+6Ahzdxvptmc=

— sigsum.org/v1/tree/1643169b32bef33a3f54f8a353b87c475d19b6223cbb106390d10a29978e1cba V/caaoqL8fymDRNE+24hBuj4kGr4M9PXWiH+jTr3K+RZ96EfKuZgbsY0ShO4Uc1FSz0oGisa5Hcy96jWr7zAE00aLQA=
— poc.sigsum.org/nisse rDC+YQAAAABpgwCboe4RgrJlIESZy+865Z8+oii5KLPL2ogXpO1aEndoI+mtjvHOmGubmNmVTxeY7EMVwYIHBGAKIxxpA4zMlybSAg==
— witness.stagemole.eu Z/euoAAAAABpgwCbqvZC6BpUOZd3GA8jhXPXSHi2jHtkXYARWDYhQFu0ULTniH/HZQKoFCxJPWTj7T5VbYLa0XBkEQguWIBfZPqdAg==
— rgdd.se/poc-witness 2wNzLgAAAABpgwCb9ZU/QG9f2X2cnRMosAsHv0NKXrdtjaNZrtqYxBTeKcoc7Rhylx6g8TdQinuwXH0yJUhAlCVnevlkM3BjGbwIAQ==
— remora.n621.de 2net5wAAAABpgwCbNDS0ZGkEcU9Jg8jn6XakUzJxHxABKxn761VJtsDAT7TtUv7tLagpNUYjxSsiuQCTd2A0qNV9Zg+f8noRj1v4AQ==
— witness.navigli.sunlight.geomys.org o+AP4gAAAABpgwCb8NzhvN2jooJkedYuav7b6ewG6PmQrlnYzvqE2abuaMEsKCD7AOHb3DAESxbHaVqdEEfOxHiNx1f2mNNOuuxDBQ==
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABpgwCbtExB91VmhQAD9/ZVptx7s4u5gOjiw4OHHimIOAXTrex3gqCDiLk4bZcYOApLtpAAQ+K0YIDP8Pp1pQDDbvnfCg==
— tillitis.se/test-witness-1 cifk5wAAAABpgwCbcGl7SmsH555J0KjkH9dFClk+6d8R2mJEzr5LDBXI5S8orTkxuVqAb8fxa0rZAZeXHdwIdDTHmFuLOgIjyfo2Aw==
— witness1.smartit.nu/witness1 pIyCDwAAAABpgwCbZhDlz06tIGLZeD+8GdK65l7e01M1SVrQzwOGJ37S1RhUztZO+iGm2wo5j9+2dhqn1WWeVJUKBg0Wf73Le17OBQ==
";
    const LOG: &str = "sigsum.org/v1/tree/1643169b32bef33a3f54f8a353b87c475d19b6223cbb106390d10a29978e1cba+57f71a6a+AUfkgWBtisunR6awU9bC0ZFgX7EiF11BChICqRQwq845";
    const WITNESSES: [&str; 8] = [
        "poc.sigsum.org/nisse+ac30be61+BBwl+KRMY1RX4uOR0e+8p9TClRoK7wYiWogeRrmJYqxs",
        "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
        "rgdd.se/poc-witness+db03732e+BCjJKlo6BU0xfIb8LutqerIFTWIXEA0L5n3tW3QyPFgG",
        "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
        "witness.navigli.sunlight.geomys.org+a3e00fe2+BNy/co4C1Hn1p+INwJrfUlgz7W55dSZReusH/GhUhJ/G",
        "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
        "tillitis.se/test-witness-1+7227e4e7+BGNlgq7BLzLBiiFzPbnj9xgFjueq7G2+TrgXgeD0MAxu",
        "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    ];

    /// A checkpoint of the log "ours" with 7 leaves, and its key.
    fn ours() -> (String, SigningKey) {
        let key = SigningKey::new("ours", &[1; 32]).unwrap();
        (TreeHead::sign(7, [3; 32], &key), key)
    }

    /// The key of a witness, and the line with which it cosigns the note at a time.
    fn cosign(note: &str, name: &str, seed: u8, time: u64) -> (WitnessKey, String) {
        let signing = SigningKey::new(name, &[seed; 32]).unwrap();
        let witness = WitnessKey::new(name, signing.verifying().public()).unwrap();
        let text = &note[..=note.rfind("\n\n").unwrap()];
        let signature = signing.sign(format!("cosignature/v1\ntime {time}\n{text}").as_bytes());
        let line = line(name, &[&witness.hash()[..], &time.to_be_bytes(), &signature].concat());
        (witness, line)
    }

    fn real_witnesses() -> Vec<WitnessKey> {
        WITNESSES.map(|key| key.parse().unwrap()).into()
    }

    /// The example of the specification.
    #[test]
    fn a_request_has_the_specified_form() {
        let checkpoint = "\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
";
        let hashes = [
            "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=",
            "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=",
            "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=",
            "/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=",
        ];
        let proof = hashes.map(|hash| STANDARD.decode(hash).unwrap().try_into().unwrap());
        let body = format!("old 20852014\n{}\n\n{checkpoint}", hashes.join("\n"));
        assert_eq!(request(20_852_014, &proof, checkpoint), Ok(body));
        assert_eq!(request(0, &[], checkpoint), Ok(format!("old 0\n\n{checkpoint}")));
    }

    #[test]
    fn a_request_that_no_witness_can_grant_is_not_made() {
        let (note, _) = ours();
        assert!(request(7, &[], &note).is_ok());
        assert!(request(6, &[[0; 32]; PROOF_HASHES_MAX], &note).is_ok());
        for (old, hashes, why) in [
            (8, 0, WitnessError::Smaller { old: 8, size: 7 }),
            (0, 1, WitnessError::Proof),
            (7, 1, WitnessError::Proof),
            (6, 0, WitnessError::Proof),
            (6, PROOF_HASHES_MAX + 1, WitnessError::Proof),
        ] {
            assert_eq!(request(old, &vec![[0; 32]; hashes], &note), Err(why), "{old} {hashes}");
        }
        assert!(matches!(request(0, &[], "no note"), Err(WitnessError::Checkpoint(_))));
    }

    /// Each status of the protocol is told apart. The sizes are those of the tests of Sigsum's Go library.
    #[test]
    fn an_answer_is_read_as_the_protocol_means_it() {
        let read = |status, kind, body: &str| Answer::read(status, kind, body.as_bytes());
        let size = Some("text/x.tlog.size");
        // The example of the specification.
        let lines = "\
— witness.example/w1 CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==
— witness.example/w1 I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWhO+DlkL0+UfzuOBMh9ChdMkP1vi/lCAsmlw==
— witness.example/w2 AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA7nC3HNJhm/kWl7oJlqU3rXXvpysAdyP3wQ==
";
        assert_eq!(read(200, None, lines), Ok(Answer::Cosigned(lines.to_owned())));
        for (body, has) in [("0\n", 0), ("50\n", 50), ("18446744073709551615\n", u64::MAX)] {
            assert_eq!(read(409, size, body), Ok(Answer::Has(has)));
        }
        for (status, kind, answer) in [
            (409, Some("text/plain"), Answer::Inconsistent),
            (409, None, Answer::Inconsistent),
            (422, size, Answer::Inconsistent),
            (404, size, Answer::UnknownLog),
            (403, None, Answer::UnknownKey),
            (400, None, Answer::NotUnderstood),
            (429, None, Answer::Later),
            (500, None, Answer::Later),
            (503, size, Answer::Later),
        ] {
            assert_eq!(read(status, kind, "10\n"), Ok(answer), "{status}");
        }
        for body in ["", "\n", "50", "050\n", "+5\n", "-1\n", "5\n\n", " 5\n", "5\r\n", "18446744073709551616\n"] {
            assert!(matches!(read(409, size, body), Err(WitnessError::Answer(_))), "{body}");
        }
        let odd = lines.replacen("w1", "w\u{1}1", 1);
        for body in ["", "\n", "ok\n", lines.trim_end(), &format!("{lines}\n"), &odd, &lines.replacen("==", "", 1)] {
            assert!(matches!(read(200, None, body), Err(WitnessError::Answer(_))), "{body}");
        }
        assert!(matches!(Answer::read(200, None, &[0xff, b'\n']), Err(WitnessError::Answer(_))));
        assert_eq!(read(302, None, ""), Err(WitnessError::Status(302)));
        assert_eq!(read(500, None, &" ".repeat(ANSWER_BYTES_MAX)), Ok(Answer::Later));
        assert_eq!(read(500, None, &" ".repeat(ANSWER_BYTES_MAX + 1)), Err(WitnessError::TooLong));
    }

    #[test]
    fn a_key_is_written_as_it_was_read_and_refused_with_its_reason() {
        for text in WITNESSES {
            assert_eq!(text.parse::<WitnessKey>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("", WitnessError::Key),
            ("a+b", WitnessError::Key),
            (LOG, WitnessError::Key),
            ("rgdd.se/poc-witness+db03732f+BCjJKlo6BU0xfIb8LutqerIFTWIXEA0L5n3tW3QyPFgG", WitnessError::KeyHash),
            ("rgdd.se/poc witness+db03732e+BCjJKlo6BU0xfIb8LutqerIFTWIXEA0L5n3tW3QyPFgG", WitnessError::Name),
            ("rgdd.se/poc-witness+db03732e+BCjJKlo6BU0xfIb8LutqerIFTWIXEA0L5n3tW3QyPFgG+", WitnessError::Key),
            ("rgdd.se/poc-witness+db03732e+BCjJ", WitnessError::Key),
        ] {
            assert_eq!(text.parse::<WitnessKey>(), Err(why), "{text}");
        }
        assert_eq!(WitnessKey::new("", [0; 32]), Err(WitnessError::Name));
    }

    #[test]
    fn cosignatures_of_witnesses_in_use_are_verified() {
        let witnesses = real_witnesses();
        let found = verify_cosigned(COSIGNED, &witnesses, 8).unwrap();
        assert!(found.iter().all(|cosignature| cosignature.time_seconds == 1_770_193_051));
        assert!(found.iter().zip(&witnesses).all(|(cosignature, witness)| cosignature.witness == witness.name()));
        assert_eq!(TreeHead::verify(COSIGNED, &[LOG.parse().unwrap()]).unwrap().size, 381_382);
        // The log alone first, then each witness.
        let lines = &COSIGNED[COSIGNED.find("— poc").unwrap()..];
        let mut note = COSIGNED.strip_suffix(lines).unwrap().to_owned();
        for witness in &witnesses {
            note = append(&note, lines, witness).unwrap().0;
        }
        assert_eq!(note, COSIGNED);
    }

    /// The log's signature and those of the witnesses cover every byte together.
    #[test]
    fn each_changed_bit_of_a_cosigned_checkpoint_is_found() {
        let (log, witnesses) = (LOG.parse().unwrap(), real_witnesses());
        let (keys, witnesses) = (std::slice::from_ref(&log), &witnesses[..3]);
        let note = &COSIGNED[..COSIGNED.find("— remora").unwrap()];
        let is_good = |note: &str| TreeHead::verify(note, keys).is_ok() && verify_cosigned(note, witnesses, 3).is_ok();
        assert!(is_good(note));
        for place in 0..note.len() {
            for bit in 0..8 {
                let mut bytes = note.as_bytes().to_vec();
                bytes[place] ^= 1 << bit;
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                assert!(!is_good(&changed), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn too_few_witnesses_are_counted() {
        let (note, _) = ours();
        let (first, line) = cosign(&note, "first", 2, 100);
        let (second, _) = cosign(&note, "second", 3, 100);
        let note = format!("{note}{line}");
        let both = [first, second];
        assert_eq!(verify_cosigned(&note, &both, 1).unwrap(), [Cosignature { witness: "first".into(), time_seconds: 100 }]);
        assert_eq!(verify_cosigned(&note, &both, 2), Err(WitnessError::NotEnough { found: 1, needed: 2 }));
        assert_eq!(verify_cosigned(&note, &[], 0), Ok(vec![]));
        assert_eq!(verify_cosigned(&note, &[], 1), Err(WitnessError::NotEnough { found: 0, needed: 1 }));
    }

    /// The signed text does not name the witness, so anyone who has a cosignature can write one cosignature under two names.
    #[test]
    fn one_witness_counts_once() {
        let (note, _) = ours();
        let (first, line) = cosign(&note, "first", 2, 100);
        let (alias, renamed) = cosign(&note, "alias", 2, 100);
        let (rotated, other) = cosign(&note, "first", 3, 100);
        let note = format!("{note}{line}{line}{renamed}{other}");
        for known in [vec![first.clone(), first.clone()], vec![first.clone(), alias], vec![first, rotated]] {
            assert_eq!(verify_cosigned(&note, &known, 1).unwrap().len(), 1);
            assert_eq!(verify_cosigned(&note, &known, 2), Err(WitnessError::NotEnough { found: 1, needed: 2 }));
        }
    }

    #[test]
    fn a_wrong_cosignature_of_a_known_witness_spoils_the_checkpoint() {
        let (note, key) = ours();
        let (witness, right) = cosign(&note, "w", 2, 100);
        let other = TreeHead::sign(8, [3; 32], &key);
        let stranger = cosign(&note, "stranger", 3, 100).1;
        let wrong = Err(WitnessError::WrongCosignature(witness.to_string()));
        let cut = line("w", &[&witness.hash()[..], &[1; 71]].concat());
        for line in
            [cosign(&other, "w", 2, 100).1, cosign(&note, "w", 2, 0).1, cosign(&note, "w", 2, TIME_SECONDS_MAX + 1).1, cut]
        {
            let spoilt = format!("{note}{right}{line}");
            assert_eq!(verify_cosigned(&spoilt, std::slice::from_ref(&witness), 1), wrong, "{line}");
            assert_eq!(verify_cosigned(&spoilt, &[], 0), Ok(vec![]), "a line of an unknown key is not looked at");
            let wrong = Err(WitnessError::WrongCosignature(witness.to_string()));
            assert_eq!(append(&note, &format!("{right}{line}"), &witness), wrong);
            assert_eq!(append(&spoilt, &right, &witness), wrong);
        }
        assert_eq!(append(&note, &stranger, &witness), Err(WitnessError::NoCosignature("w".into())));
        assert!(append(&note, &cosign(&note, "w", 2, TIME_SECONDS_MAX).1, &witness).is_ok());
    }

    #[test]
    fn the_newest_cosignature_replaces_and_other_lines_stay() {
        let (note, key) = ours();
        let (witness, at_100) = cosign(&note, "w", 2, 100);
        let (_, at_200) = cosign(&note, "w", 2, 200);
        let (other, line) = cosign(&note, "other", 3, 50);
        let (both, _) = append(&format!("{note}{at_100}"), &line, &other).unwrap();
        assert_eq!(both, format!("{note}{at_100}{line}"));
        let (newer, cosignature) = append(&both, &format!("{line}{at_200}{at_100}"), &witness).unwrap();
        assert_eq!((newer, cosignature.time_seconds), (format!("{note}{line}{at_200}"), 200));
        let (kept, cosignature) = append(&format!("{note}{at_200}"), &at_100, &witness).unwrap();
        assert_eq!((kept, cosignature.time_seconds), (format!("{note}{at_200}"), 200));
        assert!(TreeHead::verify(&both, &[key.verifying().clone()]).is_ok());
        // A full note takes no more.
        let full = format!("{note}{}", "\u{2014} x AAAAAAAA\n".repeat(crate::checkpoint::SIGNATURES_MAX - 1));
        assert_eq!(append(&full, &line, &other), Err(WitnessError::Checkpoint(CheckpointError::TooLong)));
    }
}
