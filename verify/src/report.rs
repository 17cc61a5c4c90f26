//! The result of a verification, as programs read it.

use serde::{Serialize, Serializer};

use crate::finding::Finding;

/// The result in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that can be checked is right.
    Verified,
    /// Something is wrong.
    NotVerified,
    /// The export could not be read.
    Failed,
}

/// A comparison with a checkpoint that the user kept, or with another export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The file that the checkpoint comes from.
    pub file: String,
    /// The number of leaves of the checkpoint; absent if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The result.
    pub result: Comparison,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// The tree of the checkpoint is the beginning of the exported one.
    Consistent,
    /// It is not.
    Differs,
    /// The checkpoint has more leaves than the export.
    Newer,
    /// The checkpoint cannot be used.
    Refused,
    /// The export does not have what the comparison needs.
    NotCheckable,
}

/// A remark: a warning, or something that cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The kind of the remark; stable.
    pub code: &'static str,
    /// How many events it is about, if it is about events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The remark, for people.
    pub text: String,
}

/// The two kinds of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All events up to the checkpoint.
    Whole,
    /// Some events, with their proofs.
    Selection,
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(match self {
            Self::Whole => "whole",
            Self::Selection => "selection",
        })
    }
}

/// The result of the verification of one export.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// The result in one word.
    pub verdict: Verdict,
    /// The name of the log.
    pub origin: Option<String>,
    /// Whether the export is whole.
    pub kind: Option<Kind>,
    /// When the export was made, as its header says.
    pub exported_at: Option<String>,
    /// The trusted key that signed the checkpoint.
    pub key: Option<String>,
    /// The number of leaves of the checkpoint.
    pub size: Option<u64>,
    /// The number of events that were read.
    pub events: u64,
    /// The number of logs that they belong to.
    pub logs: u64,
    /// The number of events whose payload was erased.
    pub redacted: u64,
    /// The number of decisions that were replayed and are right in all respects.
    pub decisions: u64,
    /// The comparisons with kept checkpoints and other exports.
    pub checkpoints: Vec<Compared>,
    /// The number of all findings.
    pub findings_count: u64,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// Remarks that the user should know although nothing is wrong.
    pub warnings: Vec<Remark>,
    /// The things that cannot be checked.
    pub not_checkable: Vec<Remark>,
}

impl Report {
    /// The report about an export of which nothing is known yet.
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            verdict: Verdict::Verified,
            origin: None,
            kind: None,
            exported_at: None,
            key: None,
            size: None,
            events: 0,
            logs: 0,
            redacted: 0,
            decisions: 0,
            checkpoints: Vec::new(),
            findings_count: 0,
            findings: Vec::new(),
            warnings: Vec::new(),
            not_checkable: Vec::new(),
        }
    }

    pub(crate) fn not_checkable(&mut self, code: &'static str, count: Option<u64>, text: impl Into<String>) {
        self.not_checkable.push(Remark { code, count, text: text.into() });
    }
}
