//! The findings of a verification: a stable code, the place, and a plain sentence.

use serde::{Serialize, Serializer};

use crate::event::LogId;

/// How many findings of one export are kept; all are counted.
pub const FINDINGS_MAX: usize = 100;
/// The most characters of a finding's sentence, which may quote a name of any length.
const TEXT_CHARS_MAX: usize = 600;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The kind of a finding. The texts are stable: programs may compare them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The code as reports show it.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    /// The file cannot be read to its end.
    Unreadable = "unreadable",
    /// The file is compressed.
    Compressed = "compressed",
    /// The last line does not end with a line feed.
    TruncatedLine = "truncated_line",
    /// A line is longer than any line of an export.
    LineTooLong = "line_too_long",
    /// The file begins with a byte order mark.
    ByteOrderMark = "byte_order_mark",
    /// Lines end with a carriage return and a line feed.
    Crlf = "crlf",
    /// A line is empty.
    BlankLine = "blank_line",
    /// A line is not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// A line is not JSON.
    NotJson = "not_json",
    /// An object has two members of one name.
    DuplicateMember = "duplicate_member",
    /// An integer lies beyond ±(2⁵³−1).
    NumberOutOfRange = "number_out_of_range",
    /// A line is none of those that an export has.
    LineForm = "line_form",
    /// An object has a member that the format does not have.
    UnknownMember = "unknown_member",
    /// A line of an event does not have its one form.
    NotCanonical = "not_canonical",
    /// The first line is no header.
    NoHeader = "no_header",
    /// The header names another version of the format.
    UnknownVersion = "unknown_version",
    /// A member of the header is missing or has another form.
    HeaderForm = "header_form",
    /// A second header stands among the events.
    SecondHeader = "second_header",
    /// Another export follows in the same file.
    Concatenated = "concatenated",
    /// The header's checkpoint is none.
    CheckpointForm = "checkpoint_form",
    /// The export or its checkpoint belongs to another log.
    WrongOrigin = "wrong_origin",
    /// No trusted key has signed the checkpoint.
    UnknownKey = "unknown_key",
    /// The checkpoint's signature is wrong.
    WrongSignature = "wrong_signature",
    /// The header's key did not sign the checkpoint.
    KeyDiffers = "key_differs",
    /// The header has another size than its checkpoint.
    SizeDiffers = "size_differs",
    /// A member of an event is missing or has another form.
    EventForm = "event_form",
    /// An event does not give the hash that it carries.
    WrongHash = "wrong_hash",
    /// An event has another number than is due in its log.
    WrongSequence = "wrong_sequence",
    /// An event does not name the hash of the event before it.
    WrongPrevious = "wrong_previous",
    /// An event is dated before the event before it in its log.
    TimeBackwards = "time_backwards",
    /// An event is dated after the export.
    TimeAfterExport = "time_after_export",
    /// Leaves are missing before this one.
    LeafGap = "leaf_gap",
    /// A leaf comes twice, or after a later one.
    LeafOrder = "leaf_order",
    /// A leaf lies beyond the tree of the checkpoint.
    LeafBeyond = "leaf_beyond",
    /// An event of a selection has no proof.
    ProofMissing = "proof_missing",
    /// The proof of an event does not lead to the checkpoint's root.
    WrongProof = "wrong_proof",
    /// A whole export ends before the last leaf of its checkpoint.
    EventsMissing = "events_missing",
    /// The events are not those that the checkpoint was signed for.
    RootDiffers = "root_differs",
    /// An event was erased and no event says so.
    ErasedWithoutEvent = "erased_without_event",
    /// An event that names an erased one was erased itself.
    RedactionErased = "redaction_erased",
    /// A kept checkpoint has another form.
    KeptForm = "kept_form",
    /// A kept checkpoint belongs to another log.
    KeptOrigin = "kept_origin",
    /// No trusted key has signed a kept checkpoint, or its signature is wrong.
    KeptSignature = "kept_signature",
    /// A kept checkpoint has more leaves than the export.
    KeptNewer = "kept_newer",
    /// The tree of a kept checkpoint is not the beginning of the exported one.
    KeptDiffers = "kept_differs",
    /// Two exports of one log show different histories.
    ExportsDisagree = "exports_disagree",
    /// The last line is no manifest.
    NoManifest = "no_manifest",
    /// A member of the manifest is missing.
    ManifestForm = "manifest_form",
    /// The manifest's size, root or checkpoint is another one than the header's.
    ManifestDiffers = "manifest_differs",
    /// The manifest counts other lines than there are.
    ManifestCounts = "manifest_counts",
    /// The bytes before the manifest are not those that it was made for.
    ManifestHash = "manifest_hash",
    /// Lines follow behind the manifest.
    AfterManifest = "after_manifest",
    /// An answer is none of the choices, or not of the kind that the question asked for.
    AnswerInvalid = "answer_invalid",
    /// An answer came after the deadline.
    AnswerLate = "answer_late",
    /// An answer came from someone who may not give it.
    AnswerNotAllowed = "answer_not_allowed",
    /// An answer in time is recorded as refused.
    RefusedInTime = "refused_in_time",
    /// A question demanded a passkey, and its answer carries no signature of one.
    PasskeyMissing = "passkey_missing",
    /// The signature of a passkey under an answer is not right.
    PasskeyInvalid = "passkey_invalid",
    /// A decision was made with a key that the server's log does not know, that is another one's, or that was not valid then.
    UnknownCredential = "unknown_credential",
    /// A decision is about a question that the intent never asked.
    UnknownQuestion = "unknown_question",
    /// A decision is about a question that had ended.
    AlreadyEnded = "already_ended",
    /// The time to answer was declared over before it was.
    ExpiredEarly = "expired_early",
    /// Silence had another effect than the question's policy says.
    FallbackDiffers = "fallback_differs",
    /// People were asked again in another way than the question's policy says.
    AttemptDiffers = "attempt_differs",
    /// A question was withdrawn, or its deadline moved, after the deadline.
    ChangeLate = "change_late",
    /// A question was withdrawn, or its deadline moved, by someone who may not do this.
    ChangeNotAllowed = "change_not_allowed",
    /// The intent went on, or asked anew, while its question was open.
    QuestionOpen = "question_open",
    /// An event of a decision says something else than follows from the rules.
    DecisionDiffers = "decision_differs",
}

impl Code {
    /// Whether the code says that a line is no text of one JSON value.
    pub(crate) fn is_of_text(self) -> bool {
        matches!(self, Self::InvalidUtf8 | Self::NotJson | Self::DuplicateMember | Self::NumberOutOfRange)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.text())
    }
}

/// The place of a finding, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line in the file, from 1.
    pub line: Option<u64>,
    /// The leaf in the tree over all events, from 0.
    pub leaf: Option<u64>,
    /// The log of the event.
    pub log: Option<LogId>,
    /// The number of the event in its log, from 1.
    pub sequence: Option<u64>,
}

impl Place {
    /// A line whose contents are not known.
    pub fn line(line: u64) -> Self {
        Self { line: Some(line), ..Self::default() }
    }
}

/// One fault of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of the fault.
    pub code: Code,
    /// The line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The leaf in the tree over all events, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<u64>,
    /// The log: `server`, or `intent` or `portfolio` with an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The number of the event in its log, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The fault in words.
    pub text: String,
}

/// The findings of one export: the first ones, and how many there are.
#[derive(Debug, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    count: u64,
}

impl Findings {
    /// Adds a finding.
    pub fn add(&mut self, place: Place, code: Code, text: impl Into<String>) {
        self.count += 1;
        if self.kept.len() < FINDINGS_MAX {
            let Place { line, leaf, log, sequence } = place;
            let log = log.map(|log| log.to_string());
            let mut text: String = text.into();
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
                text.truncate(end);
                text.push('\u{2026}');
            }
            self.kept.push(Finding { code, line, leaf, log, sequence, text });
        }
    }

    /// How many findings were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first findings.
    pub fn into_kept(self) -> Vec<Finding> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words_and_each_is_another_one() {
        let mut texts: Vec<_> = Code::ALL.iter().map(|code| code.text()).collect();
        assert!(
            texts.iter().all(|text| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'))
        );
        let length = texts.len();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), length);
    }

    #[test]
    fn findings_are_kept_up_to_the_bound_and_all_counted() {
        let mut findings = Findings::default();
        (0..FINDINGS_MAX + 5).for_each(|_| findings.add(Place::default(), Code::NotJson, "\u{e9}".repeat(10_000)));
        assert_eq!(findings.count(), FINDINGS_MAX as u64 + 5);
        let kept = findings.into_kept();
        assert_eq!((kept.len(), kept[0].text.chars().count()), (FINDINGS_MAX, TEXT_CHARS_MAX + 1));
    }
}
