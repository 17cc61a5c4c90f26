//! Request and response bodies, shared by server and SDK; they contain no rules. Rows, events and decisions
//! have types of their own.

mod access;
mod assignments;
mod broadcasts;
mod conditions;
mod config;
mod coordinators;
mod deliveries;
mod drafts;
mod events;
mod governance;
mod graph;
mod grounds;
mod holds;
mod intents;
mod keys;
mod leases;
mod lifecycle_receipts;
mod people;
mod plans;
mod portfolios;
mod preview;
mod problem;
mod proofs;
mod receipts;
mod records;
mod redactions;
mod requests;
mod several;
mod signals;
mod stops;
mod subscriptions;
mod suspensions;
mod tasks;
mod wakes;

pub use self::access::{
    AccessRequestList, AccessRequestStatus, AccessRequestView, AccessView, AclEntryView, AclView, ApproveAccessRequest,
    DenyAccessRequest, GrantAccessRequest, RequestAccessRequest, SetAclRequest,
};
pub use self::assignments::{AgentUnassigned, AssignAgentRequest, AssignmentList, AssignmentView};
pub use self::broadcasts::{BroadcastFilter, BroadcastOutcome, BroadcastRequest, BroadcastResult, BroadcastView};
pub use self::conditions::AskedConditions;
pub(crate) use self::conditions::as_in_a_record;
pub use self::config::{ServerConfigView, SuspensionConfigView};
pub use self::coordinators::{
    CoordinatorDecisionView, CoordinatorView, CreateCoordinatorRequest, CreateDecisionRecordRequest, GuardrailsRequest,
    GuardrailsView, HeartbeatView,
};
pub use self::deliveries::{
    BOUNCE_DETAIL_MAX, BounceReceipt, BounceRequest, BounceView, DeliveryPage, DeliveryView, RETURNED_TO_MAX,
};
pub use self::drafts::{DraftList, DraftView, SaveDraftRequest};
pub use self::events::{AppendEventRequest, EventView, ServerEventView};
pub use self::governance::GovernanceView;
pub use self::graph::{AddDependencyRequest, GraphEdgeKind, GraphEdgeView, GraphNodeView, GraphView, RelativesView, WaitingView};
pub use self::grounds::EarlierDecision;
pub use self::holds::{HoldLifted, HoldList, HoldView, PlaceHoldRequest};
pub use self::intents::{CreateIntentRequest, IntentPage, IntentView, PatchStateRequest, SetStatusRequest};
pub use self::keys::{CreateKeyRequest, CreatedKey, KeyList, KeyView};
pub use self::leases::{AcquireLeaseRequest, LeaseList, LeaseReleased, RenewLeaseRequest};
pub use self::lifecycle_receipts::{
    LifecycleEvent, LifecycleProblem, LifecycleReceipt, LifecycleReceipts, LifecycleStamp, LifecycleVerdict, ResumptionReceipt,
    SuspensionReceipt, TriggerMatch, VerifyLifecycleRequest,
};
pub use self::people::{
    AddPersonRequest, ChangePersonRequest, GroupList, GroupView, OutOfOffice, PersonList, PersonView, SetGroupRequest,
};
pub use self::plans::{
    CheckpointRequest, CheckpointView, ConditionRequest, ConditionView, CreatePlanRequest, DecideCheckpointRequest, OTHERWISE,
    PlanProgress, PlanView, SuspendedTask, UpdatePlanRequest,
};
pub use self::portfolios::{
    AddToPortfolioRequest, AggregateStatus, AggregateWord, ByStatus, CreatePortfolioRequest, MemberList, MemberView,
    MembershipView, PortfolioEventView, PortfolioPolicyRequest, PortfolioView, RemovedFromPortfolio, SetPortfolioStatusRequest,
    SuspendedPhase, UpdatePortfolioRequest, WholePortfolioView,
};
pub use self::preview::{AtTheEnd, ScheduledAttempt, SuspensionPreview, What};
pub use self::problem::ProblemBody;
pub use self::proofs::{
    BreakView, ChainView, ConsistencyView, GlobalProofView, LogCheckpointView, MerkleProofView, ProofStepView,
};
pub use self::receipts::{ConsumeReceiptRequest, ReceiptFileView, ReceiptState, ReceiptView, RevokeReceiptRequest};
pub use self::records::{
    AddAttachmentRequest, AttachmentList, AttachmentView, CostList, CostSummary, CostView, DecisionList, DecisionView,
    FailureList, FailureView, RecordCostRequest, RecordDecisionRequest, RecordFailureRequest, RetryPolicyView,
    SetRetryPolicyRequest,
};
pub use self::redactions::{RedactRequest, RedactionView};
pub use self::requests::{
    ApprovalList, ApprovalRequest, ApprovalView, ArbitrationRequest, ArbitrationView, DecideApprovalRequest, EscalationList,
    EscalationRequest, EscalationView, ResolveEscalationRequest,
};
pub use self::several::{OptionRequest, QuestionRequest};
pub use self::signals::{Signal, is_signalled};
pub use self::stops::{
    ChildHandoff, FireRequest, FiredView, ParkRequest, PauseRequest, ResumeRequest, SettleRequest, StopRecord, StopRequest,
    StopResolution, SuspensionView,
};
pub use self::subscriptions::{SubscribeRequest, SubscriptionView};
pub use self::suspensions::{
    CancelRequest, ChoiceRequest, ClaimRequest, CountedAnswer, DelegateRequest, ExtendRequest, HandedOn, QuorumRequest,
    ReassignRequest, RemindRequest, RespondRequest, RespondResponse, SuspendRequest, SuspensionPage, SuspensionRecord,
    TakeBackRequest,
};
pub use self::tasks::{
    ClaimTaskRequest, CompleteTaskRequest, CreateTaskRequest, DelegateTaskRequest, EscalateTaskRequest, FailTaskRequest,
    ReportProgressRequest, TaskView, UpdateTaskRequest,
};
pub use self::wakes::{WAKE_VALUE_BYTES_MAX, WakeData, WakeResolution, WakeView};
