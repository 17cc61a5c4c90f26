//! `placet serve`.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, KeyId};
use domain::base::time::rfc3339;
use domain::people::principal::Role;
use domain::wire::CreateKeyRequest;
use secrecy::{ExposeSecret, SecretString};
use store::host::account;
use store::host::clock::{SystemClock, SystemEntropy};
use store::host::task::spawn_named;
use store::{SecretOrigin, Store};
use url::Url;

use super::doctor::written;
use super::door::Door;
use super::say;
use crate::app::{App, hold_after_restore};
use crate::cli::reach::{Reached, ask};
use crate::config::{Config, DatabaseArgs, Mode, ServeArgs, raise_files_max, secret_from_environment, use_small_pages};
use crate::edge::instance::Instance;
use crate::edge::keys::{generate, new_key};
use crate::edge::settings::asks_by_default;

/// How long after its start the server asks its own public URL: a proxy before the server may need some time to notice it.
const LOOK_AFTER: Duration = Duration::from_secs(3);

/// Why mails stay in memory.
const NO_MAIL_SERVER: &str = "No mail server is set, so mails stay in memory";
/// Why mails stay in memory although a mail server is set.
const MAIL_SERVER_UNUSED: &str = "This is development, so mails stay in memory and the mail server that is set gets none";

#[derive(Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    settings: ServeArgs,
    /// The database was restored: make all answer links useless, and hold deadlines and messages until `placet release`.
    #[arg(long)]
    after_restore: bool,
}

pub(super) async fn run(args: StartArgs) -> anyhow::Result<()> {
    let StartArgs { settings: mut args, after_restore } = args;
    let stop = stop_signal()?;
    args.smtp_url = secret_from_environment("PLACET_SMTP_URL")?;
    raise_files_max();
    use_small_pages();
    let config = Config::load(&args)?;
    let (mode, has_mail_server, database) = (config.mode, config.mail.is_some(), config.database.clone());
    let told_public_url = config.public_url.is_some();
    let nobody_is_asked = !asks_by_default(&config.asking);
    // A database that cannot be reached is reported when it is opened.
    let new_database = if config.database.is_new().await.unwrap_or(false) { Some(config.database.place()) } else { None };
    say_if_the_clock_is_wrong()?;
    if after_restore {
        hold_after_restore(&config.database, Arc::new(SystemClock), Arc::new(SystemEntropy)).await?;
    }
    let app = App::build(config, Arc::new(SystemClock), Arc::new(SystemEntropy)).await?;
    first_key(&*app.store(), mode, &args.database).await?;
    say(format!("Placet listens on {}", app.public_url()))?;
    if let Some(address) = app.development_address() {
        let door = Door::new(&database, app.public_url());
        door.open(if has_mail_server { MAIL_SERVER_UNUSED } else { NO_MAIL_SERVER }, &address.borrow())?;
        // The task ends with the process. Then the door is dropped, and removes the file that it has written.
        drop(spawn_named("development-door", async move { door.keep(address).await }));
    }
    if let Some(place) = new_database {
        say(format!("Made a new database: {place}"))?;
    }
    if nobody_is_asked {
        say(
            "No operators are set, so a question without notify_to reaches no person. Start with PLACET_OPERATORS=you@example.com to be asked.",
        )?;
    }
    tracing::info!(address = %app.address(), development = mode.is_development(), "listening");
    if told_public_url {
        let (public_url, instance) = (app.public_url().clone(), app.instance());
        // The task ends with the process, and leaves nothing to clean up.
        drop(spawn_named("public-url", async move { look_for_itself(public_url, instance).await }));
    }
    app.run_until(stop).await
}

/// Warns in the log if the clock cannot be right, because it shows a time before this program was written. The store notices a
/// clock that is behind by less, because the store knows when a server last ran.
fn say_if_the_clock_is_wrong() -> anyhow::Result<()> {
    let (now, written) = (SystemClock.now(), written()?);
    if now < written {
        tracing::warn!(
            "the clock says {}, which is before this program was written: set it, and keep it right with a time service \
             (chrony, systemd-timesyncd), because deadlines depend on it",
            rfc3339(now)
        );
    }
    Ok(())
}

/// Warns in the log if the links in mails lead to another server.
///
/// It only warns, once: a proxy before the server may need the server to run first, or may not let it reach its own address.
async fn look_for_itself(public_url: Url, instance: Instance) {
    tokio::time::sleep(LOOK_AFTER).await;
    match ask(&public_url, &instance, &SystemEntropy).await {
        Ok(Reached::This) => tracing::info!(%public_url, "the public URL leads to this server"),
        Ok(found @ (Reached::OtherPlacet | Reached::Other(_) | Reached::Redirected(..))) => tracing::warn!(
            %public_url,
            "the public URL leads elsewhere: {found}; people cannot open the links in mails until PLACET_PUBLIC_URL or the proxy is corrected"
        ),
        Ok(found @ (Reached::Gateway(_) | Reached::Nothing(_))) => {
            tracing::warn!(%public_url, "the public URL cannot be reached from here: {found}; `placet doctor` tells more");
        }
        Err(error) => tracing::warn!(error = format!("{error:#}"), "failed to look for the public URL"),
    }
}

/// If there is no key yet: in development, makes the first key and shows it on the terminal, or without a terminal says how to
/// make one; in production, fails and says how to make one. A server without a key is of no use.
async fn first_key(store: &dyn Store, mode: Mode, database: &DatabaseArgs) -> anyhow::Result<()> {
    if !store.keys(account::principal()).await?.is_empty() {
        return Ok(());
    }
    let flags = database.flags();
    if !mode.is_development() {
        anyhow::bail!("there is no key yet; make one first: placet keys create --role admin --name admin{flags}");
    }
    // A secret goes to a terminal, never into a file to which a person redirected the output.
    if !std::io::stdout().is_terminal() {
        say(format!("No key exists yet. Make one: {} keys create --role agent --name my-agent{flags}", program()))?;
        return Ok(());
    }
    let secret = make_key(store, Role::Admin, "admin").await?;
    say(format!("Your admin key, shown this once: {}", secret.expose_secret()))?;
    say(format!("Make a key for an agent: {} keys create --role agent --name my-agent{flags}", program()))?;
    Ok(())
}

/// The command with which this program was started. It may be a path, because `placet` alone is not found if cargo has only built
/// the program.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "placet".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Makes a key under a name and returns its secret.
pub(super) async fn make_key(store: &dyn Store, role: Role, name: &str) -> anyhow::Result<SecretString> {
    let secret = generate(role, &SystemEntropy);
    let request =
        CreateKeyRequest { role, name: name.to_owned(), subject: None, owner: None, tied_to: None, unbound: false, client: None };
    let id = KeyId(SystemEntropy.uuid(SystemClock.now()));
    let key = new_key(request, &secret, id, None, SecretOrigin::Drawn)
        .map_err(|errors| anyhow::anyhow!("the name {name:?} {}", errors[0].message))?;
    store.create_key(account::principal(), Ok(key)).await?;
    Ok(secret)
}

/// Listens for the system, or a person, asking the process to stop; the future resolves when one does.
///
/// It listens from the call on, not from the first poll, so a signal that comes while the server starts also stops it in order.
#[cfg(unix)]
pub(super) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).context("failed to listen for signals");
    let (mut interrupted, mut terminated) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// The same on Windows, for Ctrl-C alone.
#[cfg(windows)]
pub(super) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupted = tokio::signal::windows::ctrl_c().context("failed to listen for Ctrl-C")?;
    Ok(async move {
        interrupted.recv().await;
    })
}
