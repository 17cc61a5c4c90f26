//! Asks people by the crate `a2a-client-lf`, unmodified, and says on its output what it needs next from the script that starts it:
//! `press VALUE QUESTION` for a person who answers by the mailed link, `kill` for a server that dies and comes back. After a `kill`,
//! and after an answer that the client does not follow (`missed VALUE QUESTION`), the script writes a line. After `pushed TOKEN CREDENTIALS`
//! the line is the next message to the client's endpoint, which came with these two.
//!
//! Arguments: the address of the server, the key of an agent, the binding, and the address of the endpoint.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use a2a::{
    A2AError, Artifact, AuthenticationInfo, CancelTaskRequest, GetTaskRequest, Message, Part, PartContent, Role,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState,
    error_code,
};
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::auth::AuthInterceptor;
use a2a_client::{A2AClient, A2AClientFactory, BoxStream, Transport};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

type Client = A2AClient<Box<dyn Transport>>;
type Items = BoxStream<'static, Result<StreamResponse, A2AError>>;
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long one check may take, with the restart of the server in it.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let [server, key, binding, endpoint] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: a2a-neighbour SERVER KEY BINDING ENDPOINT")?;
    let card = AgentCardResolver::new(None).resolve(&server).await?;
    let factory = A2AClientFactory::builder()
        .preferred_bindings(vec![binding.clone()])
        .with_interceptor(Arc::new(AuthInterceptor::bearer(key)))
        .build();
    let (client, chosen) = factory.create_from_card_with_interface(&card).await?;
    assert_eq!(chosen.protocol_binding, binding, "the card has no such binding");
    let said = |check| println!("a2a-client-lf, {binding}: {check}");
    timeout(PATIENCE, is_answered_by_a_mailed_link(&client, &binding)).await??;
    said("asks, follows, and gets the answer of a mailed link");
    timeout(PATIENCE, asks_in_full(&client, &binding, &endpoint)).await??;
    said("asks in full, and is told of a no by its endpoint as well");
    timeout(PATIENCE, outlives_the_server(&client, &binding)).await??;
    said("follows again after the server was killed, and gets the answer");
    timeout(PATIENCE, reads_what_it_missed(&client, &binding)).await??;
    said("reads the answer of a question that was asked before the server was killed");
    timeout(PATIENCE, cancels(&client, &binding)).await??;
    said("cancels, once");
    Ok(())
}

async fn is_answered_by_a_mailed_link(client: &Client, binding: &str) -> Outcome {
    let question = format!("Deploy to production by {binding}?");
    let task = ask(client, vec![Part::text(&question)]).await?;
    let items = follow(client, &task).await?;
    println!("press yes {question}");
    is_told(items, &task, "yes").await?;
    is_kept(client, &task, "yes").await
}

async fn asks_in_full(client: &Client, binding: &str, endpoint: &str) -> Outcome {
    let question = format!("Refund order 12345 by {binding}?");
    let choices = json!([{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny"}]);
    let full = json!({"question": question, "responseType": "choice", "timeoutSeconds": 3600, "choices": choices});
    let task = ask(client, vec![Part::data(full).with_media_type("application/json")]).await?;
    let items = follow(client, &task).await?;
    let wanted = TaskPushNotificationConfig {
        url: endpoint.to_owned(),
        id: Some("mine".to_owned()),
        task_id: task.id.clone(),
        token: Some("token-of-the-client".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("credentials-of-the-server".to_owned()),
        }),
        tenant: None,
    };
    let made = client.create_push_config(&wanted).await?;
    assert_eq!((&made.id, &made.task_id, &made.url), (&wanted.id, &wanted.task_id, &wanted.url));
    println!("press deny {question}");
    is_told(items, &task, "deny").await?;
    is_told(stream::iter([pushed()?, pushed()?].map(Ok)).boxed(), &task, "deny").await?;
    is_kept(client, &task, "deny").await
}

/// The stream breaks, and the next one begins with the task as it was.
async fn outlives_the_server(client: &Client, binding: &str) -> Outcome {
    let question = format!("Send the mail by {binding}?");
    let task = ask(client, vec![Part::text(&question)]).await?;
    let items = follow(client, &task).await?;
    lose_the_server(items).await?;
    let items = follow(client, &task).await?;
    println!("press yes {question}");
    is_told(items, &task, "yes").await?;
    is_kept(client, &task, "yes").await
}

/// The answer comes while the client follows nothing.
async fn reads_what_it_missed(client: &Client, binding: &str) -> Outcome {
    let question = format!("Delete the backups by {binding}?");
    let task = ask(client, vec![Part::text(&question)]).await?;
    let missed = follow(client, &task).await?;
    lose_the_server(missed).await?;
    println!("missed no {question}");
    wait_for_the_script()?;
    is_kept(client, &task, "no").await
}

async fn cancels(client: &Client, binding: &str) -> Outcome {
    let task = ask(client, vec![Part::text(format!("Pay the invoice by {binding}?"))]).await?;
    let mut items = follow(client, &task).await?;
    let request = CancelTaskRequest { id: task.id.clone(), metadata: None, tenant: None };
    let canceled = client.cancel_task(&request).await?;
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let Some(StreamResponse::StatusUpdate(told)) = items.next().await.transpose()? else {
        return Err("the stream did not tell that the task was cancelled".into());
    };
    assert_eq!(told.status.state, TaskState::Canceled);
    assert!(items.next().await.is_none(), "the stream goes on after the end of its task");
    let refused = client.cancel_task(&request).await.expect_err("what was cancelled can be cancelled again");
    assert_eq!(refused.code, error_code::TASK_NOT_CANCELABLE, "{refused}");
    assert_eq!(get(client, &task).await?.status.state, TaskState::Canceled);
    Ok(())
}

/// Asks, and checks that the task waits for a person.
async fn ask(client: &Client, parts: Vec<Part>) -> Outcome<Task> {
    let message = Message::new(Role::User, parts);
    let request = SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
    let SendMessageResponse::Task(task) = client.send_message(&request).await? else {
        return Err("the question was answered by a message instead of a task".into());
    };
    assert_eq!(task.status.state, TaskState::AuthRequired);
    Ok(task)
}

/// Follows a task that waits: the first item is the task.
async fn follow(client: &Client, task: &Task) -> Outcome<Items> {
    let mut items = client.subscribe_to_task(&SubscribeToTaskRequest { id: task.id.clone(), tenant: None }).await?;
    let Some(StreamResponse::Task(first)) = items.next().await.transpose()? else {
        return Err("the stream does not begin with the task".into());
    };
    assert_eq!((&first.id, &first.status), (&task.id, &task.status));
    Ok(items)
}

/// Has the server killed while the stream is open, and returns once it is back. The stream must break, and not tell of an end of the task.
async fn lose_the_server(mut items: Items) -> Outcome {
    println!("kill");
    if let Some(Ok(item)) = items.next().await {
        return Err(format!("a server that was killed has told {item:?}").into());
    }
    wait_for_the_script()?;
    Ok(())
}

/// The next message to the client's endpoint.
fn pushed() -> Outcome<StreamResponse> {
    println!("pushed token-of-the-client credentials-of-the-server");
    Ok(serde_json::from_str(&wait_for_the_script()?)?)
}

/// Waits for a line of the script, and returns it.
fn wait_for_the_script() -> Outcome<String> {
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line)? == 0 {
        return Err("the script has ended".into());
    }
    Ok(line)
}

/// The stream tells the artifact, then that the task is completed, and ends.
async fn is_told(mut items: Items, task: &Task, value: &str) -> Outcome {
    let Some(StreamResponse::ArtifactUpdate(told)) = items.next().await.transpose()? else {
        return Err("the stream did not tell the artifact".into());
    };
    assert_eq!(told.task_id, task.id);
    is_decision(&told.artifact, value);
    let Some(StreamResponse::StatusUpdate(told)) = items.next().await.transpose()? else {
        return Err("the stream did not tell the end".into());
    };
    assert_eq!((&told.task_id, told.status.state), (&task.id, TaskState::Completed));
    assert!(items.next().await.is_none(), "the stream goes on after the end of its task");
    Ok(())
}

/// The task reads as completed, with the artifact.
async fn is_kept(client: &Client, task: &Task, value: &str) -> Outcome {
    let done = get(client, task).await?;
    assert_eq!(done.status.state, TaskState::Completed);
    let artifacts = done.artifacts.unwrap_or_default();
    let [artifact] = artifacts.as_slice() else {
        return Err(format!("the task has {} artifacts", artifacts.len()).into());
    };
    is_decision(artifact, value);
    Ok(())
}

async fn get(client: &Client, task: &Task) -> Result<Task, A2AError> {
    client.get_task(&GetTaskRequest { id: task.id.clone(), history_length: None, tenant: None }).await
}

fn is_decision(artifact: &Artifact, value: &str) {
    let data = artifact.parts.iter().find_map(|part| match &part.content {
        PartContent::Data(data) => Some(data),
        PartContent::Text(_) | PartContent::Raw(_) | PartContent::Url(_) => None,
    });
    let decision = data.unwrap_or(&Value::Null);
    let found = ["value", "source", "respondedBy"].map(|name| decision[name].as_str().unwrap_or_default());
    assert_eq!(found, [value, "human", "ops@example.com"], "{decision}");
}
