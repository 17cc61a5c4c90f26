//! Bodies about the log as a whole: checkpoints, proofs, the state of a chain (RFC-0019, and `docs/log-format.md`).

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::IntentId;
use crate::base::time;

/// The chain of events of an intent, as it was found when it was computed for this response.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChainView {
    /// The intent.
    pub intent_id: IntentId,
    /// Whether no fault was found.
    pub valid: bool,
    /// The same as `valid`; RFC-0019 has both names.
    pub chain_valid: bool,
    /// How many events were checked.
    pub event_count: u64,
    /// The number of the first event that was checked; 0 if there is none.
    pub first_sequence: u64,
    /// The number of the last event that was checked.
    pub last_sequence: u64,
    /// How many of them were erased: their hashes cannot be compared with their contents.
    pub redacted_count: u64,
    /// The first fault; empty if there is none.
    pub breaks: Vec<BreakView>,
}

/// A fault in a chain.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BreakView {
    /// The number of the event.
    pub sequence: u64,
    /// The fault of the event.
    pub reason: String,
}

/// A checkpoint (RFC-0019): of the tree over all events, or of the events of one intent that this tree holds.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LogCheckpointView {
    /// The checkpoint's id: the number of leaves, and for one intent also the intent.
    pub checkpoint_id: String,
    /// The intent; absent for the tree over all events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent_id: Option<IntentId>,
    /// `global` or `intent`.
    pub scope: &'static str,
    /// The root: of the tree of RFC 9162 over all leaves, or of RFC-0019's tree over the hashes of the intent's events.
    pub merkle_root: String,
    /// How many events the root covers.
    pub event_count: u64,
    /// The first leaf, from 0, or the number of the intent's first event.
    pub first_sequence: u64,
    /// The last leaf, or the number of the intent's last event.
    pub last_sequence: u64,
    /// When the checkpoint was signed.
    #[serde(with = "time::naive_form")]
    #[schema(value_type = String)]
    pub created_at: DateTime<Utc>,
    /// The public key of the log.
    pub signed_by: String,
    /// The signature, in base64: of the signed note, or for one intent of the lines `checkpoint_id` and `merkle_root`.
    pub signature: String,
    /// No anchor in another log.
    pub anchor: Option<()>,
    /// The signed note (C2SP) of the tree over all events.
    pub note: String,
}

/// A hash on the way from an event to the root.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ProofStepView {
    /// The hash of the other side.
    pub hash: String,
    /// Where the other side stands: `left` or `right`.
    pub position: &'static str,
}

/// The proof that the log contains an event.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MerkleProofView {
    /// The event.
    #[schema(value_type = String)]
    pub event_id: Uuid,
    /// Its hash.
    pub event_hash: String,
    /// The intent's checkpoint to which `proof_hashes` lead.
    pub checkpoint_id: String,
    /// The root of that checkpoint.
    pub merkle_root: String,
    /// The way from the hash of the event to `merkle_root` in RFC-0019's tree over the events of the intent.
    pub proof_hashes: Vec<ProofStepView>,
    /// The event's place among the events of the intent, from 0.
    pub leaf_index: u64,
    /// The proof in the tree over all events.
    pub global: GlobalProofView,
}

/// The proof that the tree over all events contains an event (RFC 9162).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct GlobalProofView {
    /// The leaf: canonical JSON.
    pub leaf: String,
    /// The leaf's number, from 0.
    pub leaf_index: u64,
    /// The inclusion path, lowest hash first, each in base64.
    pub proof: Vec<String>,
    /// The signed note to whose root the path leads.
    pub checkpoint: String,
}

/// Whether one checkpoint's tree is the beginning of another's.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ConsistencyView {
    /// The older checkpoint.
    pub from_checkpoint: String,
    /// The newer checkpoint.
    pub to_checkpoint: String,
    /// Whether the roots that were computed from the stored tree are those of the two checkpoints.
    pub consistent: bool,
    /// The consistency proof (RFC 9162), each hash in base64; empty if the two are not consistent.
    pub proof: Vec<String>,
    /// The older signed note.
    pub from_note: String,
    /// The newer signed note.
    pub to_note: String,
}
