//! `placet demo`: a server, an agent that asks, and a person who answers, on a scratch database.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use channels::MemoryMailbox;
use clap::Args;
use domain::asking::floors::Floors;
use domain::asking::policy::{AskingPolicy, CLIENT_GUARD_SECONDS, UnknownChannel};
use domain::asking::pressing::Pressing;
use domain::base::address::AllowList;
use domain::log::{Sealed, verify_chain};
use domain::people::principal::Role;
use domain::suspension::channel::Channels;
use domain::suspension::seeming::SeemingSecret;
use domain::suspension::{FallbackPolicy, Style};
use domain::wire::EventView;
use placet::{Answer, Choice, Client, Question, RequestInputError, Source};
use store::Database;
use store::host::clock::{SystemClock, SystemEntropy};
use store::host::task::spawn_named;
use tokio::sync::{oneshot, watch};

use super::{say, serve};
use crate::app::App;
use crate::config::{A2aConfig, Config, InboxConfig, Limits, LogConfig, Mode, SubscriptionsConfig};

/// The person who is asked.
const OPERATOR: &str = "you@example.com";
/// How long the question waits for a person, in seconds.
const TIMEOUT_SECONDS: u32 = 3_600;
/// How often the demo looks into the mailbox until the mail is there.
const LOOK: Duration = Duration::from_millis(50);
/// How long the mail may take.
const MAIL_WAIT: Duration = Duration::from_secs(20);
/// How long a browser may take to load the page it is led to after the answer.
const LAST_PAGE_WAIT: Duration = Duration::from_secs(30);

#[derive(Args)]
pub(super) struct DemoArgs {
    /// Answer unattended through the mail and the page: approve, deny or escalate.
    #[arg(long, value_name = "VALUE", value_parser = ["approve", "deny", "escalate"])]
    answer: Option<String>,
}

pub(super) async fn run(args: DemoArgs) -> anyhow::Result<()> {
    let mut interrupted = std::pin::pin!(serve::stop_signal()?);
    let folder = tempfile::tempdir()
        .context("failed to make a folder for the scratch database; set TMPDIR to a folder that can be written")?;
    let app = App::build(config(&folder)?, Arc::new(SystemClock), Arc::new(SystemEntropy)).await?;
    let base = app.public_url().to_string();
    let last_page = app.outcome_shown();
    let mailbox = app.mailbox().context("the demo has no mailbox")?;
    let key = serve::make_key(&*app.store(), Role::Agent, "refund-agent").await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = spawn_named("demo-server", async move {
        // A dropped sender stops the server as well.
        let stopped = async { drop(stopped.await) };
        if let Err(error) = app.run_until(stopped).await {
            tracing::error!(error = format!("{error:#}"), "the demo's server failed");
        }
    });
    say(format!("Placet runs on {base} with a scratch database."))?;
    let done = tokio::select! {
        done = converse(&base, key, &mailbox, args.answer.as_deref()) => done,
        () = &mut interrupted => Err(anyhow::anyhow!("stopped before there was an answer")),
    };
    if done.is_ok() && args.answer.is_none() {
        tokio::select! {
            told = until_shown(last_page) => told?,
            () = interrupted => {}
        }
    }
    drop(stop);
    server.await?;
    done
}

/// Waits until the browser that answered has loaded the page to which it is redirected: if the server ended earlier, the person
/// would see an error.
async fn until_shown(mut last_page: watch::Receiver<bool>) -> anyhow::Result<()> {
    if *last_page.borrow() {
        return Ok(());
    }
    say(format!("Waiting for your browser to load the last page, {} seconds at most …", LAST_PAGE_WAIT.as_secs()))?;
    // The demo ends whether or not the browser has loaded the page in time.
    drop(tokio::time::timeout(LAST_PAGE_WAIT, last_page.wait_for(|shown| *shown)).await);
    Ok(())
}

fn config(folder: &tempfile::TempDir) -> anyhow::Result<Config> {
    let database = Database::Sqlite(folder.path().join("demo.db"));
    Ok(Config {
        listen: "127.0.0.1:0".parse()?,
        log: LogConfig::beside(&database),
        database,
        public_url: None,
        mode: Mode::Development,
        mail: None,
        webhooks: Vec::new(),
        asking: AskingPolicy {
            default_retry_policy: None,
            operators: vec![OPERATOR.to_owned()],
            notify_allow: AllowList::parse([OPERATOR]).map_err(|why| anyhow::anyhow!(why))?,
            channels: Channels::email(),
            unknown_channel: UnknownChannel::Warn,
            seeming_secret: SeemingSecret::Warn,
            fallback_allowed: FallbackPolicy::ALL.to_vec(),
            min_interval_seconds: 1,
            pressing: Pressing::OFF,
            fallback_min_window_seconds: 1,
            fallback_requires_delivery: true,
            client_guard_seconds: CLIENT_GUARD_SECONDS,
            passkeys: false,
            recent_logins: false,
            floors: Floors::default(),
        },
        subscriptions: SubscriptionsConfig::default(),
        wakes: Vec::new(),
        senders: Vec::new(),
        a2a: A2aConfig::default(),
        retention: None,
        inbox: InboxConfig::default(),
        openid: None,
        roster: None,
        display_time_zone: None,
        otlp_endpoint: None,
        limits: Limits::of_this_machine(),
    })
}

async fn converse(
    base: &str,
    key: secrecy::SecretString,
    mailbox: &MemoryMailbox,
    unattended: Option<&str>,
) -> anyhow::Result<()> {
    let client = Client::new(base, key)?;
    let intent = client.create_intent("Refund order #12345").active().send().await?;
    let asking = client.request_input(intent.id(), question());
    let answering = async {
        let link = first_link(mailbox, base).await?;
        say(format!("The agent asks. A mail to {OPERATOR} says where to answer:\n\n    {link}\n"))?;
        match unattended {
            Some(value) => press(&link, value).await,
            None => Ok(say("Open it in a browser and choose. The agent waits …")?),
        }
    };
    let (answer, answered): (Result<Answer<String>, RequestInputError>, anyhow::Result<()>) = tokio::join!(asking, answering);
    answered?;
    let answer = answer?;
    match &answer.source {
        Source::Human { by, .. } => say(format!("The agent received {:?}, decided by {by}.", answer.value))?,
        Source::Fallback { .. } => say(format!("No person answered; the agent goes on with {:?}.", answer.value))?,
    }
    print_log(&client.events(intent.id()).await?)
}

fn question() -> Question<String> {
    Question::choices(
        "Should we refund order #12345?",
        [
            Choice::new("approve", "Approve refund")
                .description("Issue full refund to original payment method")
                .style(Style::Primary),
            Choice::new("deny", "Deny refund").description("Reject and close the case").style(Style::Danger),
            Choice::new("escalate", "Escalate").description("Route to a senior operator"),
        ],
    )
    .context("order_id", "12345")
    .context("amount", 499.99)
    .timeout_seconds(TIMEOUT_SECONDS)
    .fallback("deny")
    .confidence(0.55)
}

async fn first_link(mailbox: &MemoryMailbox, base: &str) -> anyhow::Result<String> {
    let prefix = format!("{base}a/");
    let look = async {
        loop {
            if let Some(mail) = mailbox.messages().first()
                && let Some(start) = mail.text.find(&prefix)
            {
                return mail.text[start..].split_whitespace().next().unwrap_or_default().to_owned();
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(MAIL_WAIT, look).await.context("no mail arrived")
}

/// Opens the page as a browser does, and presses a button.
async fn press(link: &str, value: &str) -> anyhow::Result<()> {
    // The SDK installed the process's cryptography when its client was made.
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build()?;
    let page = browser.get(link).send().await?;
    let cookie = page
        .headers()
        .get("set-cookie")
        .and_then(|cookie| cookie.to_str().ok()?.split(';').next())
        .unwrap_or_default()
        .to_owned();
    let html = page.text().await?;
    let nonce = html
        .split_once("name=\"nonce\" value=\"")
        .and_then(|(_, rest)| rest.split('"').next())
        .context("the page has no form")?;
    let body =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("nonce", nonce).append_pair("value", value).finish();
    let answer = browser
        .post(link)
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .send()
        .await?;
    if answer.status().as_u16() != 303 {
        bail!("the page answered {}", answer.status());
    }
    Ok(say(format!("Pressed {value:?} on the page."))?)
}

fn print_log(events: &[EventView]) -> anyhow::Result<()> {
    say("\nThe log:")?;
    for event in events {
        let hash = event.event_hash.get(..17).unwrap_or(&event.event_hash);
        say(format!("{:>3}  {}  {:<24}  {:<16}  {hash}…", event.sequence, event.created_at, event.event_type, event.actor))?;
    }
    let sealed = events.iter().map(|event| Sealed::from_served(&serde_json::to_value(event).ok()?));
    let sealed: Vec<Sealed> = sealed.collect::<Option<_>>().context("an event of the log is not of the form events have")?;
    let verified = verify_chain(&sealed).context("the log does not verify")?;
    Ok(say(format!("The chain of {verified} events verifies."))?)
}
