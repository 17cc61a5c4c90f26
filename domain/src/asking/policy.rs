//! The operator's rules about questions. A call may tighten these rules, never loosen them.

use serde_json::Value;

use crate::asking::check::Check;
use crate::asking::floors::Floors;
use crate::asking::pressing::Pressing;
use crate::asking::secrets::{findings, grounds_findings, proposal_findings};
use crate::base::address::{self, AllowList, PLAIN_RULE};
use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::form::Schema;
use crate::intent::command::Suspend;
use crate::people::client::Client;
use crate::people::principal::Principal;
use crate::suspension::FallbackPolicy;
use crate::suspension::channel::Channels;
use crate::suspension::retry::{OneOrMany, PartialRetryPolicy, Schedule};
use crate::suspension::seeming::SeemingSecret;
use crate::suspension::{Kind, NOTIFY_TO_MAX, Question, RequiredAssurance, ResponseType, SuspensionChoice};
use crate::wire::SuspendRequest;

/// The longest channel hint, in characters.
pub const CHANNEL_HINT_MAX: usize = 200;
/// The shortest window of a question with a fixed deadline, in seconds.
pub const FIXED_WINDOW_SECONDS_MIN: u32 = 10;
/// The default guard, in seconds: by how much the server ends a question with a fixed deadline earlier than its client does.
pub const CLIENT_GUARD_SECONDS: u32 = 2;
/// The longest guard that can be configured, in seconds.
pub const CLIENT_GUARD_SECONDS_MAX: u32 = 5;

/// The treatment of a `channel_hint` that this server does not know; the RFC's examples say "slack".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownChannel {
    /// The default channels are used, and the reply has a warning.
    Warn,
    /// The call is refused.
    Reject,
}

/// The operator's rules about questions.
#[derive(Clone, Debug)]
pub struct AskingPolicy {
    /// The server's default retry policy (RFC-0026, cascade).
    pub default_retry_policy: Option<PartialRetryPolicy>,
    /// The people who are asked if a call names no one.
    pub operators: Vec<String>,
    /// The addresses that may be asked.
    pub notify_allow: AllowList,
    /// The server's channels.
    pub channels: Channels,
    /// The treatment of unknown channels.
    pub unknown_channel: UnknownChannel,
    /// The treatment of texts that look like a secret.
    pub seeming_secret: SeemingSecret,
    /// The fallback policies a call may choose.
    pub fallback_allowed: Vec<FallbackPolicy>,
    /// The least time between two attempts of one question, in seconds.
    pub min_interval_seconds: u32,
    /// How often an agent may ask the same question, and write to the same person.
    pub pressing: Pressing,
    /// The shortest window after which a fallback other than `fail` may apply, in seconds.
    pub fallback_min_window_seconds: u32,
    /// Whether a fallback other than `fail` applies only if a person has been reached.
    pub fallback_requires_delivery: bool,
    /// The guard, in seconds: how much earlier the server ends a question than a client that applies fallbacks by its own clock.
    pub client_guard_seconds: u32,
    /// Whether people can have passkeys here: the server has a domain name.
    pub passkeys: bool,
    /// Whether people can log in by an issuer of identities here, which says when they did.
    pub recent_logins: bool,
    /// How sure the server must at least be of the person who answers.
    pub floors: Floors,
}

/// The rules about questions, with the caller who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The rules.
    pub policy: &'a AskingPolicy,
    /// The caller.
    pub by: &'a Principal,
}

impl AskingPolicy {
    /// Turns a request of the caller `by` into a command (RFC-0025 §4–§6, RFC-0026).
    ///
    /// # Errors
    ///
    /// All field errors at once.
    pub fn accept(
        &self,
        mut request: SuspendRequest,
        id: SuspensionId,
        by: &Principal,
        client: Option<Client>,
    ) -> Result<Suspend, Vec<FieldError>> {
        let mut check = Check { errors: Vec::new(), warnings: Vec::new() };
        if client.is_some() {
            narrow(&mut request, &mut check);
        }
        let response_type = request.response_type.or(request.questions.as_ref().map(|_| ResponseType::Form)).unwrap_or_default();
        check.question(&request);
        let choices = check.choices(response_type, request.choices.unwrap_or_default());
        self.check_channel(request.channel_hint.as_deref(), &mut check);
        let (assignees, quorum) = check.people(request.assignees, request.quorum, response_type, &choices);
        let schema = check.schema(request.schema, request.questions.as_deref(), response_type);
        let comment_on_refusal = check.comment(request.comment_on_refusal, response_type, &choices);
        let proposal = check.proposal(request.proposal, request.editable, response_type, &choices);
        let grounds = check.grounds(request.question_key, request.explanation, request.reversibility);
        let floor = self.floors.assurance(&by.name, assignees.as_ref(), quorum.as_ref(), request.risk);
        let required_assurance = self.assurance(request.required_assurance, floor, &mut check);
        let recipients = self.recipients(request.notify_to, assignees.is_some(), &mut check);
        // The call's fallback policy takes precedence over the server's. The call may state it as `final_fallback_policy` of
        // its retry policy, or as `fallback_policy`.
        let stated = request.retry_policy.as_ref().and_then(|policy| policy.final_fallback_policy).or(request.fallback_policy);
        // A client with a fixed deadline has already merged the server's policy into its own, so it is not merged here again.
        let server = self.default_retry_policy.as_ref().filter(|_| client.is_none());
        let schedule = Schedule::resolve(request.retry_policy, request.timeout_seconds, request.fallback_value.as_ref(), server);
        let mut schedule = schedule.map_err(|errors| check.errors.extend(errors)).ok();
        self.check_ladder(schedule.as_mut(), &mut check);
        self.check_interval("retry_policy.interval_seconds", schedule.as_ref(), &mut check);
        let fallback_policy = settled(stated, schedule.as_mut());
        let guard_seconds = client.map(|_| self.client_guard_seconds);
        self.check_fallback(fallback_policy, request.fallback_value.as_ref(), schedule.as_ref(), guard_seconds, &mut check);
        check.fallback_value(request.fallback_value.as_ref(), response_type, &choices, schema.as_deref());
        let (Some(schedule), true) = (schedule, check.errors.is_empty()) else { return Err(check.errors) };
        check.warnings.extend(schedule.shortened());
        let question = Question {
            question: request.question,
            context: request.context.unwrap_or_default(),
            channel_hint: request.channel_hint,
            timeout_seconds: schedule.timeout_seconds,
            retry_policy: schedule.retry_policy.clone(),
            confidence_at_suspension: request.confidence,
            decision_record: request.decision_record,
            recipients,
            asked_before: None,
            requested: None,
            client_id: None,
            required_assurance,
            assignees,
            risk: request.risk,
            separation: self.floors.separation(&by.name),
            comment_on_refusal,
            proposal,
            grounds,
            errand: None,
        };
        // A question that breaks no other rule has a bounded size, so searching it for secrets is bounded, too.
        check.warnings.extend(self.secrets(&question, &choices, request.fallback_value.as_ref(), schema.as_deref())?);
        check.warn_of_misleading(&choices);
        self.check_reach(&question, &mut check);
        Ok(Suspend {
            id,
            kind: Kind::AwaitingInput,
            question,
            response_type,
            choices,
            schedule,
            fallback_policy,
            fallback_value: request.fallback_value,
            requires_delivery: self.fallback_requires_delivery,
            seeming_secret: self.seeming_secret,
            guard_seconds,
            quorum,
            schema,
            supersedes: request.supersedes,
            task_id: None,
            warnings: check.warnings,
        })
    }

    /// Searches a question for texts that look like a secret. The warnings if it has some, and may be asked nevertheless.
    fn secrets(
        &self,
        question: &Question,
        choices: &[SuspensionChoice],
        fallback: Option<&Value>,
        schema: Option<&Schema>,
    ) -> Result<Vec<String>, Vec<FieldError>> {
        let decision = question.decision_record.as_ref();
        let schema = schema.map(Schema::members);
        let mut found = findings(&question.question, choices, &question.context, decision, fallback, schema);
        found.extend(proposal_findings(question.proposal.as_deref()));
        found.extend(grounds_findings(question.grounds.as_deref()));
        self.seeming_secret.judge(&found)
    }

    /// Checks the server's own retry policy against the server's other rules, so that no call is refused for a policy that it
    /// inherits.
    ///
    /// # Errors
    ///
    /// All fields that break a rule.
    pub fn check_default_retry_policy(&self) -> Result<(), Vec<FieldError>> {
        let Some(policy) = &self.default_retry_policy else { return Ok(()) };
        let mut check = Check { errors: Vec::new(), warnings: Vec::new() };
        let mut schedule = Schedule::resolve(Some(policy.clone()), None, None, None)?;
        self.check_ladder(Some(&mut schedule), &mut check);
        self.check_interval("interval_seconds", Some(&schedule), &mut check);
        if let Some(fallback) = policy.final_fallback_policy {
            if !self.fallback_allowed.contains(&fallback) {
                check.error("final_fallback_policy", "allowed", "is not among those this server allows (fallback.allowed)");
            }
            let minimum = self.fallback_min_window_seconds;
            if fallback != FallbackPolicy::Fail && schedule.window_seconds.is_some_and(|window| window < minimum) {
                check.error(
                    "interval_seconds",
                    "min",
                    format!("times max_attempts must be at least {minimum} for a fallback other than fail (fallback.min_window_seconds)"),
                );
            }
        }
        if check.errors.is_empty() { Ok(()) } else { Err(check.errors) }
    }

    /// The assurance that holds: the higher one of the call's and the server's. Refuses a call that no person could answer.
    fn assurance(
        &self,
        required: Option<RequiredAssurance>,
        floor: Option<RequiredAssurance>,
        check: &mut Check,
    ) -> Option<RequiredAssurance> {
        if required == Some(RequiredAssurance::Passkey) && !self.passkeys {
            let message = "must be absent: people have no passkeys here, because the server's public address has no domain name";
            check.error("required_assurance", "unsupported", message);
        }
        if required == Some(RequiredAssurance::RecentLogin) && !self.recent_logins {
            let message = "must be absent: people log in by no issuer of identities here, which could say that a login is recent";
            check.error("required_assurance", "unsupported", message);
        }
        check.warn_of_floor(required, required.max(floor));
        required.max(floor)
    }

    fn check_channel(&self, hint: Option<&str>, check: &mut Check) {
        let Some(hint) = hint else { return };
        if hint.chars().count() > CHANNEL_HINT_MAX {
            check.error("channel_hint", "length", format!("must be at most {CHANNEL_HINT_MAX} characters"));
            return;
        }
        if self.channels.contains(hint) {
            return;
        }
        let known = self.channels.names().join(", ");
        match self.unknown_channel {
            UnknownChannel::Reject => check.error("channel_hint", "known", format!("unknown channel; this server has: {known}")),
            UnknownChannel::Warn => {
                check.warnings.push(format!("channel_hint names no channel of this server ({known}); the default is used"));
            }
        }
    }

    /// Warns if none of the people who are told at any attempt gets a link to answer. Unless a person answers through the API,
    /// the question then ends as undeliverable, and its asker waits in vain.
    fn check_reach(&self, question: &Question, check: &mut Check) {
        if question.assignees.is_some() && question.recipients.is_empty() {
            return;
        }
        let attempts = question.retry_policy.as_ref().map_or(1, |policy| policy.max_attempts);
        let mut routes = (1..=attempts)
            .flat_map(|attempt| self.channels.routes(question.channel_at(attempt), question.recipients_at(attempt)))
            .peekable();
        let nobody = "; unless a person answers through the API, it ends as undeliverable";
        if routes.peek().is_none() {
            let why = "no person is told: notify_to is absent and the server has no default operators";
            check.warnings.push([why, nobody].concat());
        } else if !routes.any(|route| self.channels.carries_links(route.channel)) {
            let why = "the people who are told cannot answer: none of the channels that are used carries the answer link";
            check.warnings.push([why, nobody].concat());
        }
    }

    /// The people who are asked; none yet if the store is to find out who the assignees are.
    fn recipients(&self, notify_to: Option<Vec<String>>, is_assigned: bool, check: &mut Check) -> Vec<String> {
        let Some(addresses) = notify_to else {
            return if is_assigned { Vec::new() } else { self.operators.clone() };
        };
        if addresses.is_empty() || addresses.len() > NOTIFY_TO_MAX {
            check.error("notify_to", "length", format!("names 1 to {NOTIFY_TO_MAX} addresses"));
            return Vec::new();
        }
        let named = addresses.iter().enumerate();
        address::each_once(named.filter_map(|(index, text)| self.address(&format!("notify_to[{index}]"), text, check)))
    }

    fn check_ladder(&self, schedule: Option<&mut Schedule>, check: &mut Check) {
        let ladder = schedule.and_then(|schedule| schedule.retry_policy.as_mut()).map(|policy| &mut policy.escalation_ladder);
        for (index, rung) in ladder.into_iter().flatten().enumerate() {
            let field = format!("retry_policy.escalation_ladder[{index}].notify_to");
            if let Some(OneOrMany(addresses)) = &mut rung.notify_to {
                if addresses.len() > NOTIFY_TO_MAX {
                    check.error(&field, "length", format!("names at most {NOTIFY_TO_MAX} addresses"));
                    continue;
                }
                *addresses = address::each_once(addresses.iter().filter_map(|text| self.address(&field, text, check)));
            }
            self.check_channel(rung.channel_hint.as_deref(), check);
        }
    }

    /// An address that may be asked, in the one spelling in which it is stored.
    fn address(&self, field: &str, text: &str, check: &mut Check) -> Option<String> {
        let address = address::exact(text).filter(|address| self.notify_allow.allows(address));
        if address.is_none() && address::plain(text).is_some() {
            check.error(field, "allowed", "is not on the server's allow-list (PLACET_NOTIFY_ALLOW)");
        } else if address.is_none() {
            check.error(field, "email", format!("must be a plain e-mail address: {PLAIN_RULE}"));
        }
        address
    }

    /// Refuses reminders that follow each other too quickly: they would press people as much as repeated questions do.
    fn check_interval(&self, field: &str, schedule: Option<&Schedule>, check: &mut Check) {
        let policy = schedule.and_then(|schedule| schedule.retry_policy.as_ref()).filter(|policy| policy.max_attempts > 1);
        let minimum = self.min_interval_seconds;
        if policy.is_some_and(|policy| policy.interval_seconds < minimum) {
            check.error(
                field,
                "min",
                format!("reminders are at least {minimum} seconds apart on this server (questions.min_interval_seconds)"),
            );
        }
    }

    /// Checks a call's fallback. Without these rules, an agent that obeys a prompt injection could approve its own act: it
    /// would ask with a window of one second and `fallback_value: "approve"`.
    fn check_fallback(
        &self,
        policy: FallbackPolicy,
        value: Option<&Value>,
        schedule: Option<&Schedule>,
        guard_seconds: Option<u32>,
        check: &mut Check,
    ) {
        if guard_seconds.is_some() {
            check_fixed(schedule.and_then(|schedule| schedule.window_seconds), check);
        }
        if !self.fallback_allowed.contains(&policy) {
            check.error("fallback_policy", "allowed", "this server does not allow this policy (fallback.allowed)");
        }
        if policy == FallbackPolicy::Fail {
            return;
        }
        if value.is_none() {
            check.error("fallback_value", "required", "is needed by this fallback_policy");
        }
        let minimum = self.fallback_min_window_seconds;
        let guard = guard_seconds.unwrap_or(0);
        match schedule.map(|schedule| schedule.window_seconds.map(|window| window.saturating_sub(guard))) {
            Some(None) => {
                check.error("fallback_policy", "deadline", "without timeout_seconds or retry_policy the only policy is fail");
            }
            Some(Some(window)) if window < minimum => {
                check.error(
                    "timeout_seconds",
                    "min",
                    format!(
                        "a fallback other than fail needs a window of at least {minimum} seconds (fallback.min_window_seconds)"
                    ),
                );
            }
            Some(Some(_)) | None => {}
        }
    }
}

/// Rewrites the retry policy of a call so that it means here the same as to a client with a fixed deadline. If the interval is
/// longer than `timeout_seconds`, people are asked once, and the question ends after `timeout_seconds`. One attempt with an
/// interval of 0 is the same as no retry policy.
fn narrow(request: &mut SuspendRequest, check: &mut Check) {
    let Some(policy) = &mut request.retry_policy else { return };
    if policy.max_attempts == Some(1) && policy.interval_seconds == Some(0) {
        request.fallback_policy = policy.final_fallback_policy.or(request.fallback_policy);
        request.retry_policy = None;
        return;
    }
    let timeout = request.timeout_seconds.filter(|timeout| policy.interval_seconds.is_some_and(|interval| interval > *timeout));
    if let Some(timeout) = timeout {
        policy.interval_seconds = Some(timeout);
        policy.max_attempts = Some(1);
        if let Some(ladder) = &mut policy.escalation_ladder {
            ladder.retain(|rung| rung.attempt <= 1);
        }
        check.warnings.push(format!(
            "people are asked once, and the question ends after timeout_seconds {timeout}: retry_policy.interval_seconds is more"
        ));
    }
}

/// The policy at the deadline: the one that the call states, or else that of the retry policy, which then has the same one.
fn settled(stated: Option<FallbackPolicy>, schedule: Option<&mut Schedule>) -> FallbackPolicy {
    let mut retry_policy = schedule.and_then(|schedule| schedule.retry_policy.as_mut());
    let settled = stated.or(retry_policy.as_ref().and_then(|policy| policy.final_fallback_policy)).unwrap_or_default();
    if let Some(policy) = &mut retry_policy {
        policy.final_fallback_policy = Some(settled);
    }
    settled
}

/// Refuses a fixed deadline that comes too soon: the guard (by how much the server ends the question earlier than its client
/// does) would be a large part of the window.
fn check_fixed(window: Option<u32>, check: &mut Check) {
    if window.is_some_and(|window| window < FIXED_WINDOW_SECONDS_MIN) {
        let message = format!("must be at least {FIXED_WINDOW_SECONDS_MIN} seconds for a key of this client");
        check.error("timeout_seconds", "min", message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::base::name::Owner;
    use crate::suspension::channel::{EMAIL, NamedChannel, Reach};
    use crate::suspension::{
        CHOICE_DESCRIPTION_MAX, CHOICE_LABEL_MAX, CHOICE_VALUE_MAX, CHOICES_MAX, CONTEXT_BYTES_MAX, QUESTION_BYTES_MAX,
    };

    fn policy() -> AskingPolicy {
        AskingPolicy {
            default_retry_policy: None,
            operators: vec!["ops@example.com".into()],
            notify_allow: AllowList::parse(["*@example.com", "one@other.example"]).unwrap(),
            channels: Channels::email(),
            unknown_channel: UnknownChannel::Warn,
            seeming_secret: SeemingSecret::Warn,
            fallback_allowed: FallbackPolicy::ALL.to_vec(),
            min_interval_seconds: 30,
            pressing: Pressing::OFF,
            fallback_min_window_seconds: 10,
            fallback_requires_delivery: true,
            client_guard_seconds: CLIENT_GUARD_SECONDS,
            passkeys: true,
            recent_logins: true,
            floors: Floors::default(),
        }
    }

    fn accept(policy: &AskingPolicy, change: impl std::borrow::Borrow<Value>) -> Result<Suspend, Vec<(String, String)>> {
        let mut body = json!({"question": "Go?", "choices": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}], "timeout_seconds": 60});
        for (key, value) in change.borrow().as_object().unwrap() {
            body[key] = value.clone();
        }
        let request: SuspendRequest = serde_json::from_value(body).unwrap();
        policy
            .accept(request, SuspensionId(Uuid::nil()), &Principal::agent("bot", Owner("team".into())), None)
            .map_err(|errors| errors.into_iter().map(|e| (e.field, e.rule)).collect())
    }

    fn refused(change: Value) -> (String, String) {
        accept(&policy(), change).unwrap_err().remove(0)
    }

    #[test]
    fn a_plain_question_goes_to_the_default_operators() {
        let accepted = accept(&policy(), json!({})).unwrap();
        assert_eq!(accepted.question.recipients, ["ops@example.com"]);
        assert!(accepted.warnings.is_empty());
        let nobody = AskingPolicy { operators: vec![], ..policy() };
        assert_eq!(accept(&nobody, json!({})).unwrap().warnings.len(), 1);
    }

    /// If no person can answer a question, the reply to its asker says so. Without this warning the agent would learn it only
    /// when the time is over.
    #[test]
    fn a_question_that_nobody_can_answer_says_so() {
        let channel = |name: &str, reach, links| NamedChannel { name: name.into(), reach, links };
        let mail = || channel(EMAIL, Reach::People, true);
        let room = |links| channel("room", Reach::Audience("ops-room".into()), links);
        let on = |known: Vec<NamedChannel>, operators: &[&str]| {
            let default = known[0].name.clone();
            let operators = operators.iter().map(|address| (*address).to_owned()).collect();
            AskingPolicy { channels: Channels::new(known, vec![default]).unwrap(), operators, ..policy() }
        };
        let warnings = |policy: &AskingPolicy, change: Value| accept(policy, change).unwrap().warnings;
        let quiet = on(vec![room(false)], &[]);
        assert!(warnings(&quiet, json!({}))[0].contains("carries the answer link"));
        assert!(warnings(&quiet, json!({"notify_to": ["a@example.com"]}))[0].contains("carries the answer link"));
        assert!(warnings(&on(vec![room(true)], &[]), json!({})).is_empty(), "the room has the link");
        let beside = on(vec![mail(), room(false)], &[]);
        assert!(warnings(&beside, json!({"channel_hint": "room"}))[0].contains("carries the answer link"), "mails to nobody");
        assert!(warnings(&beside, json!({}))[0].contains("notify_to is absent"));
        let to_people = json!({"channel_hint": "room", "notify_to": ["a@example.com"]});
        assert!(warnings(&beside, to_people).is_empty(), "the people have mails");
        let later = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60,
            "escalation_ladder": [{"attempt": 2, "notify_to": "a@example.com"}]}});
        assert!(warnings(&beside, later).is_empty(), "somebody is told at the second attempt");
    }

    /// The reply names misleading words to the asker, so that an honest agent learns of them when it asks.
    #[test]
    fn choices_that_mislead_are_named_to_their_asker() {
        let lie = json!({"choices": [{"value": "approve", "label": "I deny"}, {"value": "deny", "label": "Deny it"}]});
        let warnings = accept(&policy(), lie).unwrap().warnings;
        assert_eq!(warnings, ["choices: An answer says one thing and sends another. People are warned."]);
    }

    #[test]
    fn the_servers_own_policy_keeps_the_servers_rules() {
        let rung = |address: &str| {
            serde_json::from_value(json!([{"attempt": 2, "notify_to": address, "channel_hint": "pager"}])).unwrap()
        };
        let with = |change: &dyn Fn(&mut AskingPolicy, &mut PartialRetryPolicy)| {
            let (mut rules, mut default) = (policy(), PartialRetryPolicy::default());
            (default.max_attempts, default.interval_seconds) = (Some(2), Some(60));
            change(&mut rules, &mut default);
            let checked = AskingPolicy { default_retry_policy: Some(default), ..rules }.check_default_retry_policy();
            checked.err().map(|errors| errors[0].field.clone())
        };
        assert_eq!(with(&|_, default| default.escalation_ladder = Some(rung("a@example.com"))), None);
        let stranger = with(&|_, default| default.escalation_ladder = Some(rung("a@elsewhere.example")));
        assert_eq!(stranger.as_deref(), Some("retry_policy.escalation_ladder[0].notify_to"));
        let unknown = with(&|rules, default| {
            rules.unknown_channel = UnknownChannel::Reject;
            default.escalation_ladder = Some(rung("a@example.com"));
        });
        assert_eq!(unknown.as_deref(), Some("channel_hint"));
        let forbidden = with(&|rules, default| {
            rules.fallback_allowed = vec![FallbackPolicy::Fail];
            default.final_fallback_policy = Some(FallbackPolicy::CompleteWithFallback);
        });
        assert_eq!(forbidden.as_deref(), Some("final_fallback_policy"));
        let window = |seconds, fallback| {
            with(&|rules, default| {
                rules.fallback_min_window_seconds = seconds;
                default.final_fallback_policy = Some(fallback);
            })
        };
        assert_eq!(window(120, FallbackPolicy::CompleteWithFallback), None);
        assert_eq!(window(121, FallbackPolicy::CompleteWithFallback).as_deref(), Some("interval_seconds"));
        assert_eq!(window(121, FallbackPolicy::Fail), None);
    }

    #[test]
    fn every_limit_holds_at_its_bound_and_not_beyond() {
        let choices =
            |n: usize| json!({"choices": (0..n).map(|i| json!({"value": i.to_string(), "label": "x"})).collect::<Vec<_>>()});
        let ok = |change: Value| accept(&policy(), change).is_ok();
        assert!(ok(choices(CHOICES_MAX)) && !ok(choices(CHOICES_MAX + 1)) && !ok(choices(10_000)));
        assert!(ok(json!({"question": "x".repeat(QUESTION_BYTES_MAX)})));
        assert!(!ok(json!({"question": "x".repeat(QUESTION_BYTES_MAX + 1)})));
        let one = |value: usize, label: usize, description: usize| json!({"choices": [{"value": "ä".repeat(value), "label": "x".repeat(label), "description": "x".repeat(description)}]});
        assert!(ok(one(CHOICE_VALUE_MAX, CHOICE_LABEL_MAX, CHOICE_DESCRIPTION_MAX)));
        assert!(
            !ok(one(CHOICE_VALUE_MAX + 1, 1, 1))
                && !ok(one(1, CHOICE_LABEL_MAX + 1, 1))
                && !ok(one(1, 1, CHOICE_DESCRIPTION_MAX + 1))
        );
        assert!(!ok(one(0, 1, 0)) && !ok(one(1, 0, 0)));
        let context = |n: usize| json!({"context": {"k": "x".repeat(n - 8)}});
        assert!(ok(context(CONTEXT_BYTES_MAX)) && !ok(context(CONTEXT_BYTES_MAX + 1)));
        let people = |n: usize| json!({"notify_to": (0..n).map(|i| format!("p{i}@example.com")).collect::<Vec<_>>()});
        assert!(ok(people(NOTIFY_TO_MAX)) && !ok(people(NOTIFY_TO_MAX + 1)) && !ok(people(0)));
    }

    #[test]
    fn each_broken_rule_names_its_field() {
        for (change, field, rule) in [
            (json!({"question": "  "}), "question", "required"),
            (json!({"question": "a\u{0}b"}), "question", "nul"),
            (json!({"choices": []}), "choices", "required"),
            (json!({"choices": [{"value": "a", "label": "A"}, {"value": "a", "label": "B"}]}), "choices[1].value", "unique"),
            (json!({"choices": [{"value": "a\nb", "label": "A"}]}), "choices[0].value", "control"),
            (json!({"choices": [{"value": " ", "label": "A"}]}), "choices[0].value", "required"),
            (json!({"choices": [{"value": "a", "label": "\u{3000}\n"}]}), "choices[0].label", "required"),
            (json!({"response_type": "confirm"}), "choices", "confirm"),
            (json!({"notify_to": ["no address"]}), "notify_to[0]", "email"),
            (json!({"notify_to": ["a..b@example.com"]}), "notify_to[0]", "email"),
            (json!({"notify_to": [".a@example.com"]}), "notify_to[0]", "email"),
            (json!({"notify_to": ["a@example.com\r\nBcc: x@y.example"]}), "notify_to[0]", "email"),
            (json!({"notify_to": ["a@elsewhere.example"]}), "notify_to[0]", "allowed"),
            (json!({"notify_to": ["a@sub.example.com"]}), "notify_to[0]", "allowed"),
            (json!({"fallback_policy": "complete_with_fallback"}), "fallback_value", "required"),
            (json!({"fallback_policy": "complete_with_fallback", "fallback_value": "c"}), "fallback_value", "answer"),
            (
                json!({"fallback_policy": "complete_with_fallback", "fallback_value": "a", "timeout_seconds": null}),
                "fallback_policy",
                "deadline",
            ),
            (
                json!({"fallback_policy": "complete_with_fallback", "fallback_value": "a", "timeout_seconds": 9}),
                "timeout_seconds",
                "min",
            ),
            (json!({"timeout_seconds": 0}), "timeout_seconds", "range"),
            (json!({"confidence": 1.5}), "confidence", "range"),
            (
                json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 30, "escalation_ladder": [{"attempt": 2, "notify_to": "x@y.example"}]}}),
                "retry_policy.escalation_ladder[0].notify_to",
                "allowed",
            ),
        ] {
            assert_eq!(refused(change.clone()), (field.to_owned(), rule.to_owned()), "{change}");
        }
    }

    #[test]
    fn the_operators_rules_cannot_be_loosened_by_a_call() {
        let strict = AskingPolicy { fallback_allowed: vec![FallbackPolicy::Fail], ..policy() };
        let wants = json!({"fallback_policy": "use_default_and_continue", "fallback_value": "a"});
        assert_eq!(accept(&strict, wants.clone()).unwrap_err()[0].0, "fallback_policy");
        assert!(accept(&policy(), wants).is_ok());
        let hidden = json!({"retry_policy": {"interval_seconds": 60, "final_fallback_policy": "use_default_and_continue"}, "fallback_value": "a"});
        assert_eq!(accept(&strict, hidden).unwrap_err()[0].0, "fallback_policy");
    }

    #[test]
    fn the_calls_fallback_counts_before_the_servers() {
        let server = PartialRetryPolicy {
            interval_seconds: Some(60),
            final_fallback_policy: Some(FallbackPolicy::Fail),
            ..PartialRetryPolicy::default()
        };
        let with_default = AskingPolicy { default_retry_policy: Some(server), ..policy() };
        let silent = accept(&with_default, json!({"timeout_seconds": null})).unwrap();
        assert_eq!(silent.fallback_policy, FallbackPolicy::Fail);
        let stated = json!({"timeout_seconds": null, "fallback_policy": "complete_with_fallback", "fallback_value": "a"});
        assert_eq!(accept(&with_default, stated).unwrap().fallback_policy, FallbackPolicy::CompleteWithFallback);
    }

    #[test]
    fn an_unknown_channel_warns_or_is_refused_as_configured() {
        let slack = json!({"channel_hint": "slack"});
        assert_eq!(accept(&policy(), slack.clone()).unwrap().warnings.len(), 1);
        let rejecting = AskingPolicy { unknown_channel: UnknownChannel::Reject, ..policy() };
        assert_eq!(accept(&rejecting, slack).unwrap_err()[0].0, "channel_hint");
        assert!(accept(&rejecting, json!({"channel_hint": "email"})).is_ok());
    }

    #[test]
    fn a_confirm_may_label_its_two_values_but_not_invent_others() {
        let labelled = json!({"response_type": "confirm", "choices": [{"value": "yes", "label": "Ship it"}, {"value": "no", "label": "Wait"}]});
        assert_eq!(accept(&policy(), labelled).unwrap().choices[0].label, "Ship it");
        let defaults = accept(&policy(), json!({"response_type": "confirm", "choices": []})).unwrap();
        assert_eq!(defaults.choices, SuspensionChoice::yes_no());
    }
}
