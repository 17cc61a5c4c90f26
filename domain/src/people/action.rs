//! The actions for which a principal needs a permission.

/// The actions that a principal may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Create an intent.
    CreateIntent,
    /// Read one intent or suspension by its id.
    Read,
    /// Read lists: the intents or questions, the log of an intent, the messages about a question.
    Browse,
    /// Patch the state of an intent.
    PatchState,
    /// Change the status of an intent.
    SetStatus,
    /// Append an event to the log of an intent.
    AppendEvent,
    /// Acquire, renew or release a lease.
    Lease,
    /// Assign an agent to an intent, or take an agent off it.
    Assign,
    /// Manage the access control list of an intent.
    ManageAccess,
    /// Ask for access to an intent.
    RequestAccess,
    /// Decide about a request for access.
    DecideAccess,
    /// Put an intent into a portfolio; as an action on the portfolio, have intents put into it.
    JoinPortfolio,
    /// Take an intent out of a portfolio; as an action on the portfolio, have intents taken out of it.
    LeavePortfolio,
    /// Create a portfolio.
    CreatePortfolio,
    /// Read a portfolio, or list portfolios.
    ReadPortfolio,
    /// Change the status of a portfolio.
    ChangePortfolio,
    /// Have an endpoint told of the events of an intent.
    Subscribe,
    /// Read a subscription, or list subscriptions.
    ReadSubscription,
    /// End a subscription.
    Unsubscribe,
    /// Let an intent wait for another one.
    AddDependency,
    /// Let an intent wait for another one no longer.
    RemoveDependency,
    /// Create a task of an intent, or change it.
    WorkOnTask,
    /// Set or remove the policy of an intent.
    Govern,
    /// Ask a question.
    Suspend,
    /// Answer a question.
    Respond,
    /// Decide a request that does not suspend its intent: approve it, deny it, resolve it.
    Decide,
    /// Tell others that one works on a question.
    Claim,
    /// Take a claim back.
    Release,
    /// Hand one's own place in a question to another person.
    Delegate,
    /// Assign a question to other people.
    Reassign,
    /// Share a draft of an answer with the others who may answer, or take it back.
    SaveDraft,
    /// Read the drafts of an answer that people have shared.
    ReadDrafts,
    /// Stop the work of an agent on an intent.
    Pause,
    /// Stop one's own work until a condition is met.
    Park,
    /// Tell of an event for which parked work may wait.
    FireEvent,
    /// Say how far one's own work has stopped.
    Settle,
    /// Let stopped work go on.
    Resume,
    /// End the work of an agent on an intent.
    Stop,
    /// Stop the work on many intents at once.
    Broadcast,
    /// Before a question is asked, see which people would be told of it, and when.
    Preview,
    /// Withdraw a question.
    Cancel,
    /// Give people more time for a question.
    Extend,
    /// Tell people of a question again, now.
    Remind,
    /// Create, list, revoke and import keys; add, list and remove people.
    ManageKeys,
    /// Read the server's own log.
    ReadServerLog,
    /// Read checkpoints of the tree over all events, and proofs between them.
    ReadTree,
    /// Have a checkpoint signed now.
    SignTree,
    /// Read the events of all logs: export them, or look at them on the audit page.
    Export,
    /// Read the server's metrics.
    ReadMetrics,
    /// Report that a message came back.
    ReportBounce,
    /// List messages over all questions.
    ReadDeliveries,
    /// Send a failed message again.
    Redrive,
    /// Have the receipt of a decision made.
    IssueReceipt,
    /// Read a receipt.
    ReadReceipt,
    /// Use a receipt for an action.
    ConsumeReceipt,
    /// Revoke a receipt.
    RevokeReceipt,
    /// Erase the content of an intent that has ended, or hold it back from being erased.
    Redact,
    /// Look at the questions that wait for people.
    ReadInbox,
}

impl Action {
    /// All actions, for the tests of the matrix of roles and actions.
    pub const ALL: [Self; 58] = [
        Self::CreateIntent,
        Self::Read,
        Self::Browse,
        Self::PatchState,
        Self::SetStatus,
        Self::AppendEvent,
        Self::Lease,
        Self::Assign,
        Self::ManageAccess,
        Self::RequestAccess,
        Self::DecideAccess,
        Self::Govern,
        Self::Suspend,
        Self::Respond,
        Self::Decide,
        Self::Preview,
        Self::Cancel,
        Self::Extend,
        Self::Remind,
        Self::ManageKeys,
        Self::ReadServerLog,
        Self::ReadTree,
        Self::SignTree,
        Self::Export,
        Self::ReadMetrics,
        Self::ReportBounce,
        Self::ReadDeliveries,
        Self::Redrive,
        Self::JoinPortfolio,
        Self::LeavePortfolio,
        Self::CreatePortfolio,
        Self::ReadPortfolio,
        Self::ChangePortfolio,
        Self::Subscribe,
        Self::ReadSubscription,
        Self::Unsubscribe,
        Self::AddDependency,
        Self::RemoveDependency,
        Self::WorkOnTask,
        Self::IssueReceipt,
        Self::ReadReceipt,
        Self::ConsumeReceipt,
        Self::RevokeReceipt,
        Self::Redact,
        Self::ReadInbox,
        Self::Claim,
        Self::Release,
        Self::Delegate,
        Self::Reassign,
        Self::SaveDraft,
        Self::ReadDrafts,
        Self::Pause,
        Self::Settle,
        Self::Resume,
        Self::Park,
        Self::FireEvent,
        Self::Stop,
        Self::Broadcast,
    ];
}
