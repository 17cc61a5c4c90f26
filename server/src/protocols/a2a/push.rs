//! Push configurations: endpoints of the client that are told the changes of a task.

use std::fmt;

use domain::base::ids::{IntentId, SubscriptionId};
use domain::intent::status::Status as IntentStatus;
use domain::people::principal::Principal;
use domain::subscription::{PUSH_CREDENTIALS_MAX, PUSH_WORD_MAX, Push, Subscription, WEBHOOK_URL_MAX};
use serde::Deserialize;
use serde_json::{Value, json};
use store::NewPush;

use super::earlier;
use super::error::{Error, Wants};
use super::parameters::{no_tenant, params, task_id};
use super::projection::{Shown, state, state_of, task};
use super::wire::{Item, State, timestamp};
use crate::edge::problem::Failure;
use crate::edge::pushes::{Change, PushSecrets, Pushes};
use crate::edge::shared::Shared;

/// The methods about push configurations.
const METHODS: [&str; 4] = [
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

/// A push configuration as a client sends it.
#[derive(Clone)]
pub(crate) struct Config {
    /// Its id; empty if the client leaves it to the server.
    id: String,
    url: String,
    secrets: PushSecrets,
}

/// `Debug` leaves out what is secret, and the URL, whose path may be.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Config {
    /// The same, for an endpoint that reads the version before this one.
    pub(crate) fn set_earlier(&mut self) {
        self.secrets.is_earlier = true;
    }
}

/// The wish of a call about the push configurations of a task.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Create(Config),
    /// The one of this id; in 0.3 the id may be left out, which means the only one.
    Get(Option<String>),
    List,
    Delete(String),
}

/// A call about push configurations.
#[derive(Clone, Debug)]
pub(crate) struct PushCall {
    task: IntentId,
    wanted: Wanted,
    is_earlier: bool,
}

impl PushCall {
    /// Whether the call changes the configurations.
    pub(super) fn writes(&self) -> bool {
        match self.wanted {
            Wanted::Create(_) | Wanted::Delete(_) => true,
            Wanted::Get(_) | Wanted::List => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigIn {
    #[serde(default)]
    tenant: String,
    #[serde(default)]
    id: String,
    #[serde(default, alias = "task_id")]
    task_id: String,
    url: String,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    authentication: Option<AuthenticationIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationIn {
    #[serde(default)]
    scheme: String,
    /// The schemes of 0.3, of which the first one counts.
    #[serde(default)]
    schemes: Vec<String>,
    #[serde(default)]
    credentials: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierConfigIn {
    task_id: String,
    push_notification_config: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OneIn {
    #[serde(default)]
    tenant: String,
    #[serde(default, alias = "task_id")]
    task_id: String,
    #[serde(default)]
    id: String,
    /// The id of the configuration in 0.3, where `id` is that of the task.
    #[serde(default)]
    push_notification_config_id: Option<String>,
    /// A task has at most five configurations, so all of them are on the first page.
    #[serde(default, rename = "pageSize", alias = "page_size")]
    _page_size: Option<i64>,
    #[serde(default, alias = "page_token")]
    page_token: String,
}

/// Reads a configuration, with the task that it names.
fn config_of(given: Value) -> Result<(String, Config), Error> {
    let ConfigIn { tenant, id, task_id, url, token, authentication } = params(given)?;
    no_tenant(&tenant)?;
    if !id.is_empty() {
        check_id("id", &id)?;
    }
    if url.chars().count() > WEBHOOK_URL_MAX {
        return Err(Error::wrong("url", format!("must be at most {WEBHOOK_URL_MAX} characters")));
    }
    let token = token.filter(|token| !token.is_empty());
    if token.as_ref().is_some_and(|token| !is_visible(token, PUSH_WORD_MAX)) {
        return Err(Error::wrong("token", format!("must be at most {PUSH_WORD_MAX} visible characters of ASCII")));
    }
    let authentication = authentication.map(authentication_of).transpose()?.flatten();
    Ok((task_id, Config { id, url, secrets: PushSecrets { token, authentication, is_earlier: false } }))
}

fn authentication_of(given: AuthenticationIn) -> Result<Option<(String, String)>, Error> {
    let AuthenticationIn { scheme, schemes, credentials } = given;
    let scheme = if scheme.is_empty() { schemes.into_iter().next().unwrap_or_default() } else { scheme };
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte));
    if scheme.is_empty() || scheme.len() > PUSH_WORD_MAX || !is_scheme(&scheme) {
        return Err(Error::wrong("authentication.scheme", "must be the name of a scheme of HTTP, for example Bearer"));
    }
    let Some(credentials) = credentials.filter(|credentials| !credentials.is_empty()) else { return Ok(None) };
    let is_plain = credentials.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if !is_plain || credentials.len() > PUSH_CREDENTIALS_MAX {
        let message = format!("must be at most {PUSH_CREDENTIALS_MAX} visible characters of ASCII");
        return Err(Error::wrong("authentication.credentials", message));
    }
    Ok(Some((scheme, credentials)))
}

fn check_id(field: &str, id: &str) -> Result<(), Error> {
    if is_visible(id, PUSH_WORD_MAX) && !id.is_empty() {
        return Ok(());
    }
    Err(Error::wrong(field, format!("must be 1 to {PUSH_WORD_MAX} visible characters of ASCII")))
}

fn is_visible(text: &str, most: usize) -> bool {
    text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The configuration that a message brings along.
pub(crate) fn of_message(given: Value) -> Result<Config, Error> {
    let (task, config) = config_of(given)?;
    if task.is_empty() { Ok(config) } else { Err(Error::wrong("taskId", "must be left out: it is that of the message")) }
}

/// The call that a method of 1.0 is; `None` for the methods about something else. A server that pushes nothing refuses all of them, whatever
/// their parameters are.
pub(crate) fn read(method: &str, given: &Value, is_earlier: bool, is_served: bool) -> Option<Result<PushCall, Error>> {
    let read = match method {
        method if !METHODS.contains(&method) => return None,
        _ if !is_served => Err(Error::no_push()),
        "CreateTaskPushNotificationConfig" => create(given.clone(), is_earlier),
        "GetTaskPushNotificationConfig" => one(given.clone(), is_earlier).and_then(|(task, id)| {
            let id = id.filter(|id| !id.is_empty());
            if id.is_none() && !is_earlier {
                return Err(Error::wrong("id", "must be that of the configuration"));
            }
            Ok((task, Wanted::Get(id)))
        }),
        "ListTaskPushNotificationConfigs" => one(given.clone(), is_earlier).map(|(task, _)| (task, Wanted::List)),
        // The last of the methods.
        _ => one(given.clone(), is_earlier).and_then(|(task, id)| {
            let id = id.filter(|id| !id.is_empty());
            let id = id.ok_or_else(|| Error::wrong("id", "must be that of the configuration"))?;
            check_id("id", &id)?;
            Ok((task, Wanted::Delete(id)))
        }),
    };
    let call = |(task, wanted): (String, Wanted)| Ok::<_, Error>(PushCall { task: task_id(&task)?, wanted, is_earlier });
    Some(read.and_then(call))
}

fn create(given: Value, is_earlier: bool) -> Result<(String, Wanted), Error> {
    if !is_earlier {
        let (task, config) = config_of(given)?;
        return Ok((task, Wanted::Create(config)));
    }
    let EarlierConfigIn { task_id, push_notification_config } = params(given)?;
    let mut config = of_message(push_notification_config)?;
    config.set_earlier();
    Ok((task_id, Wanted::Create(config)))
}

/// The ids of the task and of the configuration.
fn one(given: Value, is_earlier: bool) -> Result<(String, Option<String>), Error> {
    let OneIn { tenant, task_id, id, push_notification_config_id, page_token, .. } = params(given)?;
    no_tenant(&tenant)?;
    if !page_token.is_empty() {
        return Err(Error::wrong("pageToken", "must be left out: all configurations are on the first page"));
    }
    if is_earlier {
        return Ok((id, push_notification_config_id));
    }
    Ok((task_id, Some(id)))
}

/// Refuses a configuration that cannot be used, before the message that brings it along has any effect.
pub(super) fn check(shared: &Shared, config: &Config) -> Result<(), Error> {
    let pushes = shared.doors.push.as_ref().ok_or_else(Error::no_push)?;
    usable(pushes, config).map(drop)
}

fn usable(pushes: &Pushes, config: &Config) -> Result<String, Error> {
    pushes.check(&config.url).map_err(|why| Error::wrong("url", why))
}

/// Performs a call.
pub(super) async fn perform(shared: &Shared, principal: Principal, call: PushCall) -> Result<Value, Error> {
    let PushCall { task, wanted, is_earlier } = call;
    let pushes = shared.doors.push.as_ref().ok_or_else(Error::no_push)?;
    let plain = |failure: Failure| Error::from(failure, Wants::Other);
    let shown = |subscription: &Subscription| shown(pushes, subscription, is_earlier);
    match wanted {
        Wanted::Create(config) => {
            let new = new(shared, task, config)?;
            Ok(shown(&shared.store.create_push(principal, new).await.map_err(|error| plain(error.into()))?))
        }
        Wanted::Get(id) => {
            let all = shared.store.pushes(principal, task).await.map_err(|error| plain(error.into()))?;
            let is_wanted = |one: &&Subscription| id.is_none() || one.push.as_ref().map(|push| &push.id) == id.as_ref();
            all.iter().find(is_wanted).map(shown).ok_or_else(Error::task_not_found)
        }
        Wanted::List => {
            let all = shared.store.pushes(principal, task).await.map_err(|error| plain(error.into()))?;
            let configs: Vec<Value> = all.iter().map(shown).collect();
            Ok(if is_earlier { json!(configs) } else { json!({ "configs": configs, "nextPageToken": "" }) })
        }
        Wanted::Delete(id) => {
            shared.store.delete_push(principal, task, id).await.map_err(|error| plain(error.into()))?;
            Ok(if is_earlier { Value::Null } else { json!({}) })
        }
    }
}

/// The endpoint that a configuration is, for this task.
pub(super) fn new(shared: &Shared, task: IntentId, config: Config) -> Result<NewPush, Error> {
    let pushes = shared.doors.push.as_ref().ok_or_else(Error::no_push)?;
    let url = usable(pushes, &config)?;
    let fresh = shared.entropy.uuid(shared.clock.now());
    // A configuration without an id is the only one of its endpoint, so that a repeated call makes no second one.
    let id = if config.id.is_empty() { task.to_string() } else { config.id };
    let sealed = pushes.seal(task, &id, &config.secrets, &*shared.entropy).ok_or_else(Error::no_push)?;
    Ok(NewPush { id: SubscriptionId(fresh), intent_id: task, url, push: Push { id, sealed } })
}

/// A configuration as its maker sees it. The token and the credentials are not shown again.
fn shown(pushes: &Pushes, subscription: &Subscription, is_earlier: bool) -> Value {
    let (task, url) = (subscription.intent_id, &subscription.body.webhook_url);
    let Some(push) = &subscription.push else { return Value::Null };
    let secrets = pushes.unseal(task, &push.id, &push.sealed).unwrap_or_default();
    let scheme = secrets.authentication.map(|(scheme, _)| scheme);
    if is_earlier {
        let mut config = json!({ "id": push.id, "url": url });
        if let Some(scheme) = scheme {
            config["authentication"] = json!({ "schemes": [scheme] });
        }
        return json!({ "taskId": task, "pushNotificationConfig": config });
    }
    let mut config = json!({ "id": push.id, "taskId": task, "url": url });
    if let Some(scheme) = scheme {
        config["authentication"] = json!({ "scheme": scheme });
    }
    config
}

/// The messages about a change: the items that a stream carries. In 0.3 it is the whole task.
pub(crate) fn messages(change: &Change<'_>) -> Vec<Value> {
    let &Change { matter, payload, at, is_earlier } = change;
    let whole = json!(task(matter, Shown { artifacts: true, ..Shown::default() }));
    if is_earlier {
        let item = Item::Task(Box::new(task(matter, Shown { artifacts: true, ..Shown::default() })));
        return vec![earlier::result(json!(item))];
    }
    let changed = serde_json::from_value::<IntentStatus>(payload["new_status"].clone()).ok();
    let now = state(matter);
    let new = changed.and_then(|changed| state_of(changed, matter.fate.is_some())).unwrap_or(now);
    // The words of a status are those of the task as it is now; a status that has passed has none.
    let status = if new == now { whole["status"].clone() } else { json!({ "state": new, "timestamp": timestamp(at) }) };
    let (task_id, context_id) = (&whole["id"], &whole["contextId"]);
    let mut update = json!({ "taskId": task_id, "contextId": context_id, "status": status });
    if let Some(metadata) = whole.get("metadata").filter(|_| new == now) {
        update["metadata"] = metadata.clone();
    }
    let mut items = Vec::new();
    if new == State::Completed
        && let Some(artifact) = whole["artifacts"].get(0)
    {
        let update = json!({ "taskId": task_id, "contextId": context_id, "artifact": artifact, "lastChunk": true });
        items.push(json!({ "artifactUpdate": update }));
    }
    items.push(json!({ "statusUpdate": update }));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the tests write the parameters in place")]
    fn call(method: &str, given: Value, is_earlier: bool) -> Result<PushCall, Error> {
        read(method, &given, is_earlier, true).unwrap()
    }

    const TASK: &str = "0193600b-2f1c-7000-8000-0000000000aa";

    #[test]
    fn a_configuration_is_read_in_both_versions() {
        let given = json!({"taskId": TASK, "id": "c", "url": "https://a.example", "token": "t",
            "authentication": {"scheme": "Bearer", "credentials": "s3cr3t"}});
        let Wanted::Create(config) = call("CreateTaskPushNotificationConfig", given, false).unwrap().wanted else { panic!() };
        let secrets =
            PushSecrets { token: Some("t".into()), authentication: Some(("Bearer".into(), "s3cr3t".into())), is_earlier: false };
        assert_eq!((config.id.as_str(), config.url.as_str()), ("c", "https://a.example"));
        assert!(config.secrets == secrets && !format!("{config:?}").contains("s3cr3t"));
        let given = json!({"taskId": TASK, "pushNotificationConfig": {"url": "https://a.example", "token": "t",
            "authentication": {"schemes": ["Bearer"], "credentials": "s3cr3t"}}});
        let Wanted::Create(config) = call("CreateTaskPushNotificationConfig", given, true).unwrap().wanted else { panic!() };
        assert!(config.secrets == PushSecrets { is_earlier: true, ..secrets } && config.id.is_empty());
        let one = call("GetTaskPushNotificationConfig", json!({"id": TASK}), true).unwrap();
        assert!(matches!(one.wanted, Wanted::Get(None)), "0.3 may mean the only one");
        assert!(read("GetTask", &json!({}), false, true).is_none() && read("GetTask", &json!({}), false, false).is_none());
        for method in METHODS {
            assert_eq!(read(method, &json!([]), false, false).unwrap().unwrap_err().code, -32003, "{method}");
        }
    }

    #[test]
    fn each_member_has_its_bound() {
        let with = |member: &str, value: Value| {
            let mut given = json!({"taskId": TASK, "url": "https://a.example"});
            given[member] = value;
            call("CreateTaskPushNotificationConfig", given, false)
        };
        let bearer = |credentials: usize| json!({"scheme": "Bearer", "credentials": "x".repeat(credentials)});
        for (member, right, wrong) in [
            ("id", json!("x".repeat(PUSH_WORD_MAX)), json!("x".repeat(PUSH_WORD_MAX + 1))),
            ("id", json!(""), json!("a b")),
            ("token", json!("x".repeat(PUSH_WORD_MAX)), json!("x".repeat(PUSH_WORD_MAX + 1))),
            ("token", json!(null), json!("a\nb")),
            ("url", json!("x".repeat(WEBHOOK_URL_MAX)), json!("x".repeat(WEBHOOK_URL_MAX + 1))),
            ("authentication", bearer(PUSH_CREDENTIALS_MAX), bearer(PUSH_CREDENTIALS_MAX + 1)),
            ("authentication", json!({"scheme": "Basic"}), json!({"scheme": "Bearer x", "credentials": "y"})),
            ("authentication", json!(null), json!({"credentials": "y"})),
            ("authentication", bearer(1), json!({"scheme": "Bearer", "credentials": "a\r\nb"})),
            ("tenant", json!(""), json!("one")),
        ] {
            assert!(with(member, right).is_ok(), "{member}");
            assert_eq!(with(member, wrong).unwrap_err().code, -32602, "{member}");
        }
        assert!(with("other", json!(1)).is_ok(), "a member that the protocol does not have is left alone");
        assert_eq!(with("headers", json!({"x": "y"})).unwrap_err().code, -32602, "its sender would count on the effect");
        assert_eq!(with("taskId", json!("nothing")).unwrap_err().code, -32001);
        for method in ["GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"] {
            assert_eq!(call(method, json!({"taskId": TASK}), false).unwrap_err().code, -32602, "{method}");
        }
    }
}
