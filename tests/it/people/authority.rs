//! Which callers may use which unit of the store: every unit, every role, one's own intent, one of the same owner, and another's.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use domain::base::field::FieldError;
use domain::base::ids::{CoordinatorId, IntentId, PlanId, PortfolioId, ReceiptId, SubscriptionId, SuspensionId, TaskId};
use domain::base::name::Owner;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::subscription::Push;
use domain::suspension::errand::Via;
use domain::wire::ResumeRequest;
use harness::{on_each_store, requests};
use proof::succession::Succession;
use serde_json::json;
use store::{LogKeyRow, NewPush, Relation, Repeatable, Store, StoreError, StreamOf, Target, Unit};

/// The units of the store (methods that run one transaction) that a caller asks for. Each takes the caller as a parameter, and
/// each has a line in the table below.
const ASKED_FOR: [&str; 98] = [
    "ask_alone",
    "say",
    "call_off",
    "halt",
    "go_on",
    "matter",
    "matters",
    "execute",
    "create",
    "intent",
    "intents",
    "events",
    "records",
    "leases",
    "acl",
    "stream",
    "relatives",
    "graph",
    "task",
    "tasks",
    "plan",
    "plans",
    "coordinator",
    "coordinators",
    "create_portfolio",
    "set_portfolio_status",
    "update_portfolio",
    "add_to_portfolio",
    "portfolio",
    "portfolios",
    "portfolio_events",
    "subscribe",
    "unsubscribe",
    "subscriptions",
    "suspension",
    "suspensions",
    "would_ask",
    "deliveries",
    "report_bounce",
    "failed_deliveries",
    "redrive",
    "create_key",
    "keys",
    "revoke_key",
    "standing",
    "server_events",
    "chain",
    "checkpoints",
    "checkpoint",
    "inclusion",
    "consistency",
    "issue_receipt",
    "receipt",
    "consume_receipt",
    "revoke_receipt",
    "redact",
    "place_hold",
    "lift_hold",
    "holds",
    "pass_on_log_key",
    "begin_export",
    "export_page",
    "add_person",
    "people",
    "change_person",
    "choose_preferences",
    "set_absence",
    "own_absence",
    "remove_person",
    "set_group",
    "remove_group",
    "groups",
    "reset_passkeys",
    "known_passkeys",
    "own_passkeys",
    "challenge_passkey",
    "add_passkey",
    "remove_passkey",
    "log_out",
    "question",
    "history",
    "unsent",
    "drafts",
    "save_draft",
    "search",
    "overview",
    "record",
    "inbox",
    "next_question",
    "dashboard",
    "either",
    "fire",
    "create_push",
    "pushes",
    "delete_push",
    "broadcast",
    "stopped_work",
    "stop_log",
];

/// The units that no caller asks for: the server's own work, and units that a secret (a link) opens or that exist only in development.
const OWN: [&str; 57] = [
    "keep_unsent",
    "forget_unsent",
    "scrub",
    "note_view",
    "follow_roster",
    "request_login",
    "lease_logins",
    "complete_login",
    "login",
    "log_in",
    "session",
    "touch_session",
    "begin_openid_login",
    "take_openid_login",
    "log_in_by_openid",
    "extend_tree",
    "sign_tree",
    "extends",
    "checkpoints_after",
    "newest_checkpoint",
    "for_witness",
    "add_cosignature",
    "checkpoint_to_mail",
    "log_keys",
    "adopt_log_key",
    "link",
    "work",
    "mailbox",
    "open_mail",
    "fire_deadlines",
    "lease_deliveries",
    "complete_delivery",
    "lease_posts",
    "complete_post",
    "lease_wakes",
    "complete_wake",
    "sort_published",
    "release_deliveries",
    "principal",
    "begin_server_log",
    "attend",
    "recover",
    "depart",
    "hold_after_restore",
    "release",
    "hold",
    "secret",
    "was_in_production",
    "forget_expired",
    "retain",
    "sweep_timers",
    "awaited",
    "stand_in",
    "probe",
    "hub",
    "close",
    "closed",
];

/// The actions for which commands need permission.
const ACTIONS: [Action; 23] = [
    Action::PatchState,
    Action::SetStatus,
    Action::AppendEvent,
    Action::Lease,
    Action::Assign,
    Action::ManageAccess,
    Action::RequestAccess,
    Action::DecideAccess,
    Action::JoinPortfolio,
    Action::LeavePortfolio,
    Action::AddDependency,
    Action::RemoveDependency,
    Action::WorkOnTask,
    Action::Suspend,
    Action::Respond,
    Action::Cancel,
    Action::Extend,
    Action::Remind,
    Action::Pause,
    Action::Park,
    Action::Settle,
    Action::Resume,
    Action::Stop,
];

/// A unit that acts for a caller but does not take the caller as a parameter could check no permission.
#[test]
fn every_unit_of_the_store_is_told_who_asks_or_is_the_servers_own() {
    let sources = [
        "store.rs",
        "logins.rs",
        "groups.rs",
        "audits.rs",
        "passkeys.rs",
        "openid.rs",
        "personal.rs",
        "inboxes.rs",
        "stops.rs",
        "broadcast.rs",
        "errands.rs",
        "waking.rs",
        "pushes.rs",
    ]
    .map(|file| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src").join(file)).unwrap());
    let bodies = sources.iter().map(|source| source.split("pub trait ").nth(1).unwrap().split("\n}\n").next().unwrap());
    let units: Vec<(&str, &str)> = bodies
        .flat_map(|body| body.split("\n    fn ").skip(1))
        .map(|unit| unit.split(';').next().unwrap().split_once('(').unwrap())
        .collect();
    let who = ["principal: Principal", "request: Request", "request: CreateIntent", "errand: NewErrand"];
    let says_who = |parameters: &str| who.iter().any(|who| parameters.contains(who));
    let names = |told| units.iter().filter(move |(_, parameters)| says_who(parameters) == told).map(|(name, _)| *name).collect();
    let (told, own): (BTreeSet<&str>, BTreeSet<&str>) = (names(true), names(false));
    assert_eq!(told, ASKED_FOR.into_iter().collect(), "each of these has a line in the table below");
    assert_eq!(own, OWN.into_iter().collect(), "each of these is the server's own, or its caller must be named and authorized");
}

/// The result of a try, as it stands in the table. An error in the request itself counts as "yes", and so does a state that does not allow
/// it, because the store reports them only to a caller that may do this.
async fn cell<T>(unit: Unit<'_, T>) -> String {
    match unit.await {
        Ok(_) | Err(StoreError::Rejected(Rejection::Invalid { .. } | Rejection::NotActive { .. } | Rejection::Stop(_))) => {
            "yes".to_owned()
        }
        Err(StoreError::Rejected(Rejection::NotFound)) => "404".to_owned(),
        Err(StoreError::Rejected(Rejection::Forbidden { .. })) => "403".to_owned(),
        Err(StoreError::Rejected(Rejection::SelfResponse)) => "self".to_owned(),
        Err(other) => other.to_string(),
    }
}

fn wrong<T>() -> Result<T, Rejection> {
    Err(Rejection::invalid("limit", "range", "is wrong"))
}

fn unwanted<T>() -> Repeatable<T> {
    Repeatable { idempotency: None, wanted: wrong() }
}

/// Tries every action on an intent as one principal: the action, and its result.
async fn of_actions(store: &dyn Store, who: &Principal, intent: IntentId) -> Vec<(String, String)> {
    let mut cells = Vec::new();
    for action in ACTIONS {
        let errors = vec![FieldError::new("field", "rule", "is wrong")];
        let request = requests::write(who, action, Target::Intent(intent), Err(errors));
        cells.push((format!("execute {action:?}"), cell(store.execute(request)).await));
    }
    cells
}

/// A push configuration of the task.
fn a_push(intent_id: IntentId) -> NewPush {
    let push = Push { id: "push".to_owned(), sealed: Vec::new() };
    NewPush { id: SubscriptionId(uuid::Uuid::from_u128(1)), intent_id, url: "https://hooks.example/".to_owned(), push }
}

/// Tries every unit as one principal: the unit, and its result.
async fn column(
    store: &dyn Store,
    who: &Principal,
    (intent, question, portfolio): (IntentId, SuspensionId, PortfolioId),
    (answered, receipt): (SuspensionId, ReceiptId),
    (task, plan, coordinator): (TaskId, PlanId, CoordinatorId),
) -> Vec<(String, String)> {
    let me = || who.clone();
    let mut cells = of_actions(store, who, intent).await;
    let mut push = |unit: &str, came_of_it| cells.push((unit.to_owned(), came_of_it));
    let create = store::CreateIntent { principal: me(), idempotency: None, below: None, intent: Err(Vec::new()) };
    push("create", cell(store.create(create)).await);
    push("intent", cell(store.intent(me(), intent)).await);
    push("intents", cell(store.intents(me(), wrong())).await);
    push("events", cell(store.events(me(), intent, wrong())).await);
    push("records", cell(store.records(me(), intent, &["comment"], 1)).await);
    push("leases", cell(store.leases(me(), intent)).await);
    push("acl", cell(store.acl(me(), intent)).await);
    push("stream", cell(store.stream(me(), StreamOf::Intent(intent), wrong())).await);
    push("relatives", cell(store.relatives(me(), intent, Relation::Children)).await);
    push("graph", cell(store.graph(me(), intent)).await);
    push("task", cell(store.task(me(), task)).await);
    push("tasks", cell(store.tasks(me(), intent, wrong())).await);
    push("plan", cell(store.plan(me(), plan)).await);
    push("plans", cell(store.plans(me(), intent)).await);
    push("coordinator", cell(store.coordinator(me(), coordinator)).await);
    push("coordinators", cell(store.coordinators(me(), intent)).await);
    push("create_portfolio", cell(store.create_portfolio(me(), unwanted())).await);
    push("update_portfolio", cell(store.update_portfolio(me(), portfolio, unwanted())).await);
    push("set_portfolio_status", cell(store.set_portfolio_status(me(), portfolio, unwanted())).await);
    push("add_to_portfolio", cell(store.add_to_portfolio(me(), portfolio, unwanted())).await);
    push("portfolio", cell(store.portfolio(me(), portfolio, wrong())).await);
    push("portfolios", cell(store.portfolios(me(), wrong())).await);
    push("portfolio_events", cell(store.portfolio_events(me(), portfolio)).await);
    push("subscribe", cell(store.subscribe(me(), unwanted())).await);
    push("unsubscribe", cell(store.unsubscribe(me(), wrong())).await);
    push("subscriptions", cell(store.subscriptions(me(), wrong())).await);
    push("suspension", cell(store.suspension(me(), question)).await);
    push("either", cell(store.either(me(), question)).await);
    push("stop_log", cell(store.stop_log(me(), question)).await);
    push("fire", cell(store.fire(me(), wrong(), None)).await);
    push("create_push", cell(store.create_push(me(), a_push(intent))).await);
    push("pushes", cell(store.pushes(me(), intent)).await);
    push("delete_push", cell(store.delete_push(me(), intent, "push".to_owned())).await);
    push("stopped_work", cell(store.stopped_work(me(), None)).await);
    push("broadcast", cell(store.broadcast(me(), wrong())).await);
    push("suspensions", cell(store.suspensions(me(), wrong())).await);
    push("would_ask", cell(store.would_ask(me(), wrong())).await);
    push("deliveries", cell(store.deliveries(me(), question, wrong())).await);
    push("report_bounce", cell(store.report_bounce(me(), wrong())).await);
    push("failed_deliveries", cell(store.failed_deliveries(me(), wrong())).await);
    push("redrive", cell(store.redrive(me(), wrong())).await);
    push("create_key", cell(store.create_key(me(), wrong())).await);
    push("keys", cell(store.keys(me())).await);
    push("revoke_key", cell(store.revoke_key(me(), wrong())).await);
    push("standing", cell(store.standing(me())).await);
    push("server_events", cell(store.server_events(me(), wrong())).await);
    push("chain", cell(store.chain(me(), intent)).await);
    push("checkpoints", cell(store.checkpoints(me(), wrong())).await);
    push("checkpoint", cell(store.checkpoint(me(), wrong())).await);
    push("inclusion", cell(store.inclusion(me(), wrong(), wrong())).await);
    push("consistency", cell(store.consistency(me(), wrong(), wrong())).await);
    push("issue_receipt", cell(store.issue_receipt(me(), answered, None)).await);
    push("receipt", cell(store.receipt(me(), receipt)).await);
    push("consume_receipt", cell(store.consume_receipt(me(), receipt, wrong())).await);
    push("revoke_receipt", cell(store.revoke_receipt(me(), receipt, wrong())).await);
    push("redact", cell(store.redact(me(), intent, wrong())).await);
    push("place_hold", cell(store.place_hold(me(), wrong())).await);
    push("lift_hold", cell(store.lift_hold(me(), wrong(), wrong())).await);
    push("holds", cell(store.holds(me())).await);
    push("pass_on_log_key", cell(store.pass_on_log_key(me(), log_key(), unsigned())).await);
    push("begin_export", cell(store.begin_export(me(), wrong())).await);
    push("export_page", cell(store.export_page(me(), Arc::default(), 0, 0)).await);
    cells.extend(column_of_people(store, who, intent, question).await);
    cells
}

/// Tries the units about people, and those of the pages behind their login.
async fn column_of_people(store: &dyn Store, who: &Principal, intent: IntentId, question: SuspensionId) -> Vec<(String, String)> {
    let me = || who.clone();
    let mut cells = Vec::new();
    let mut push = |unit: &str, came_of_it| cells.push((unit.to_owned(), came_of_it));
    push("add_person", cell(store.add_person(me(), wrong())).await);
    push("people", cell(store.people(me())).await);
    push("change_person", cell(store.change_person(me(), wrong(), wrong())).await);
    push("choose_preferences", cell(store.choose_preferences(me(), wrong())).await);
    push("set_absence", cell(store.set_absence(me(), wrong(), wrong())).await);
    push("own_absence", cell(store.own_absence(me(), None)).await);
    push("remove_person", cell(store.remove_person(me(), wrong())).await);
    push("set_group", cell(store.set_group(me(), wrong())).await);
    push("remove_group", cell(store.remove_group(me(), wrong())).await);
    push("groups", cell(store.groups(me())).await);
    push("reset_passkeys", cell(store.reset_passkeys(me(), wrong())).await);
    push("known_passkeys", cell(store.known_passkeys(me())).await);
    push("own_passkeys", cell(store.own_passkeys(me())).await);
    push("challenge_passkey", cell(store.challenge_passkey(me())).await);
    push("add_passkey", cell(store.add_passkey(me(), wrong())).await);
    push("remove_passkey", cell(store.remove_passkey(me(), wrong())).await);
    push("question", cell(store.question(me(), question)).await);
    push("history", cell(store.history(me(), question)).await);
    push("unsent", cell(store.unsent(me(), question, store::Typist::Person)).await);
    push("drafts", cell(store.drafts(me(), question)).await);
    push("save_draft", cell(store.save_draft(me(), question, wrong())).await);
    push("search", cell(store.search(me(), wrong())).await);
    push("overview", cell(store.overview(me(), wrong())).await);
    push("inbox", cell(store.inbox(me(), wrong())).await);
    push("next_question", cell(store.next_question(me(), question)).await);
    push("dashboard", cell(store.dashboard(me(), wrong())).await);
    push("record", cell(store.record(me(), intent)).await);
    push("log_out", cell(store.log_out(me(), true)).await);
    let wrong_fields = || vec![FieldError::new("field", "rule", "is wrong")];
    let idempotency = store::Idempotency { key_hash: [7; 32], body_hash: [7; 32] };
    let id = IntentId(uuid::Uuid::from_u128(7));
    let errand =
        store::NewErrand { principal: me(), id, idempotency, asked: Err(wrong_fields()), trace_parent: None, push: None };
    push("ask_alone", cell(store.ask_alone(errand)).await);
    let message = store::NewMessage {
        said: Err(wrong_fields()),
        message_id: String::new(),
        idempotency: None,
        messages: 0,
        push: None,
        only_answers: false,
    };
    push("say", cell(store.say(me(), intent, message)).await);
    push("call_off", cell(store.call_off(me(), intent)).await);
    let unreadable = store::Unreadable { action: Action::Pause, errors: wrong_fields() };
    push("halt", cell(store.halt(me(), intent, Err(unreadable))).await);
    push("go_on", cell(store.go_on(me(), intent, ResumeRequest::default(), Via::A2a)).await);
    push("matter", cell(store.matter(me(), intent, wrong())).await);
    push("matters", cell(store.matters(me(), wrong())).await);
    cells
}

/// A key for the log that changes nothing, because the statement about it is not by the key in force.
fn log_key() -> LogKeyRow {
    LogKeyRow { name: "log.example".to_owned(), public: [7; 32], sealed: None, signature: None }
}

fn unsigned() -> Succession {
    Succession { replaces: String::new(), key: String::new(), signature: String::new() }
}

/// Returns a table with a line for each unit of the store. In a line, each role has three results: on its own intent, on another
/// intent of the same owner, and on an intent of another owner.
fn table(tried: &[Vec<(String, String)>]) -> String {
    let roles: Vec<String> = Role::ALL.iter().map(|role| format!("{:14}", role.as_str())).collect();
    let mut lines = vec![format!("own, sibling, foreign  | {}", roles.join(" | "))];
    for (line, (unit, _)) in tried[0].iter().enumerate() {
        let of_role = |cells: &[Vec<(String, String)>]| {
            cells.iter().map(|cells| format!("{:4}", cells[line].1)).collect::<Vec<_>>().join(" ")
        };
        lines.push(format!("{unit:22} | {}", tried.chunks(3).map(of_role).collect::<Vec<_>>().join(" | ")));
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

on_each_store! {
    async fn the_table_of_units_and_roles_is_this_one(app: &mut TestApp) {
        let (intent, id) = app.ask(json!({})).await;
        let question = SuspensionId::parse(&id).unwrap();
        let portfolio = app.agent().post("api/v1/portfolios", json!({"name": "n"})).await.ok();
        let portfolio = portfolio["id"].as_str().unwrap().parse().unwrap();
        let task = app.agent().post("api/v1/tasks", json!({"intent_id": intent, "name": "n"})).await.ok();
        let task = task["id"].as_str().unwrap().parse().unwrap();
        let plan = app.agent().post("api/v1/plans", json!({"intent_id": intent})).await.ok();
        let plan = plan["id"].as_str().unwrap().parse().unwrap();
        let coordinator = app.agent().post("api/v1/coordinators", json!({"agent_id": "test-agent", "intent_id": intent})).await.ok();
        let coordinator = coordinator["id"].as_str().unwrap().parse().unwrap();
        let (decided, answered) = app.ask(json!({})).await;
        app.operator().respond(decided, &answered, "approve").await.ok();
        let receipt = app.agent().post(&format!("api/v1/suspensions/{answered}/receipt"), json!({})).await.ok();
        let receipt = receipt["receipt_id"].as_str().unwrap().parse().unwrap();
        let answered = SuspensionId::parse(&answered).unwrap();
        let store = app.store();
        let asker = store.intent(requests::principal("admin", Role::Admin), intent).await.unwrap().created_by;
        let mut tried = Vec::new();
        for role in Role::ALL {
            for (name, owner) in [(&*asker, &*asker), ("other", &*asker), ("other", "other")] {
                let who = Principal { owner: Owner(owner.to_owned()), ..requests::principal(name, role) };
                tried.push(column(&*store, &who, (intent, question, portfolio), (answered, receipt), (task, plan, coordinator)).await);
            }
        }
        let shown: BTreeSet<&str> = tried[0].iter().filter_map(|(unit, _)| unit.split(' ').next()).collect();
        assert_eq!(shown, ASKED_FOR.into_iter().collect(), "each unit that a caller asks for has a line");
        let expected = "\
own, sibling, foreign  | agent          | operator       | admin          | auditor        | channel        | verifier
execute PatchState     | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute SetStatus      | yes  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute AppendEvent    | yes  404  404  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Lease          | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Assign         | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute ManageAccess   | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute RequestAccess  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute DecideAccess   | 403  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute JoinPortfolio  | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute LeavePortfolio | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute AddDependency  | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute RemoveDependency | yes  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute WorkOnTask     | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Suspend        | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Respond        | self 404  404  | self self yes  | 403  403  403  | 403  403  403  | self self yes  | 403  403  403
execute Cancel         | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute Extend         | 403  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute Remind         | 403  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute Pause          | 403  yes  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute Park           | yes  yes  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Settle         | yes  yes  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
execute Resume         | 403  403  404  | 403  403  yes  | 403  403  yes  | 403  403  403  | 403  403  403  | 403  403  403
execute Stop           | 403  yes  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
create                 | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
intent                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403
intents                | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
events                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
records                | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
leases                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403
acl                    | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
stream                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
relatives              | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
graph                  | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
task                   | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
tasks                  | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
plan                   | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
plans                  | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
coordinator            | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
coordinators           | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
create_portfolio       | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
update_portfolio       | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
set_portfolio_status   | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
add_to_portfolio       | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
portfolio              | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
portfolios             | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
portfolio_events       | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
subscribe              | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
unsubscribe            | yes  yes  yes  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
subscriptions          | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
suspension             | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403
either                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403
stop_log               | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
fire                   | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | yes  yes  yes  | 403  403  403
create_push            | 403  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
pushes                 | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
delete_push            | yes  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
stopped_work           | 403  403  403  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
broadcast              | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
suspensions            | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
would_ask              | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
deliveries             | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
report_bounce          | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403
failed_deliveries      | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
redrive                | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
create_key             | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
keys                   | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
revoke_key             | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
standing               | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
server_events          | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
chain                  | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
checkpoints            | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | yes  yes  yes
checkpoint             | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | yes  yes  yes
inclusion              | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | yes  yes  yes
consistency            | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | yes  yes  yes
issue_receipt          | yes  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
receipt                | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes
consume_receipt        | 403  404  404  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  yes
revoke_receipt         | 403  404  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
redact                 | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
place_hold             | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
lift_hold              | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
holds                  | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
pass_on_log_key        | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
begin_export           | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
export_page            | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
add_person             | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
people                 | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
change_person          | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
choose_preferences     | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
set_absence            | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
own_absence            | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
remove_person          | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
set_group              | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
remove_group           | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
groups                 | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
reset_passkeys         | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
known_passkeys         | 403  403  403  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
own_passkeys           | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
challenge_passkey      | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
add_passkey            | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
remove_passkey         | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
question               | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
history                | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
unsent                 | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
drafts                 | 403  404  404  | self self yes  | 403  403  403  | self self yes  | 403  403  403  | 403  403  403
save_draft             | 403  404  404  | self self yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
search                 | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
overview               | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
inbox                  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
next_question          | 403  403  403  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
dashboard              | 403  403  403  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
record                 | 403  403  403  | 403  403  403  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403
log_out                | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404  | 404  404  404
ask_alone              | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403  | 403  403  403
say                    | self 404  404  | self self yes  | 403  403  403  | 403  403  403  | self self yes  | 403  403  403
call_off               | yes  404  404  | 403  403  403  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
halt                   | 403  yes  404  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403  | 403  403  403
go_on                  | 403  403  404  | 403  403  yes  | 403  403  yes  | 403  403  403  | 403  403  403  | 403  403  403
matter                 | yes  404  404  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403
matters                | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | yes  yes  yes  | 403  403  403  | 403  403  403";
        assert_eq!(table(&tried), expected);
    }

    /// Only the server applies deadlines. A caller that could send the command `DeadlineReached` would end questions at will.
    async fn what_only_the_server_does_is_refused_to_every_role(app: &mut TestApp) {
        let (intent, id) = app.ask(json!({})).await;
        let suspension_id = SuspensionId::parse(&id).unwrap();
        for role in Role::ALL {
            let who = requests::principal("other", role);
            let command = Ok(Command::DeadlineReached { suspension_id });
            let tried = app.store().execute(requests::write(&who, Action::Cancel, Target::Intent(intent), command)).await;
            assert!(matches!(tried, Err(StoreError::Rejected(Rejection::Forbidden { .. }))), "{role}: {tried:?}");
        }
    }

    /// Whatever action a caller names, its command is judged by the action that it really is.
    async fn a_command_says_itself_what_it_does(app: &mut TestApp) {
        let (intent, id) = app.ask(json!({})).await;
        let suspension_id = SuspensionId::parse(&id).unwrap();
        let auditor = requests::principal("auditor", Role::Auditor);
        let cancel = Ok(Command::Cancel { suspension_id, reason: None });
        let tried = app.store().execute(requests::write(&auditor, Action::Read, Target::Intent(intent), cancel)).await;
        assert!(matches!(tried, Err(StoreError::Rejected(Rejection::Forbidden { .. }))), "{tried:?}");
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
    }
}
