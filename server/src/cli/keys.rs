//! `placet keys create | list | revoke | import | rotate-log`: works beside a running server.

use std::io::{IsTerminal, Read};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, KeyId};
use domain::base::name;
use domain::people::client::Client;
use domain::people::principal::Role;
use domain::wire::{CreateKeyRequest, CreatedKey, KeyView};
use secrecy::{ExposeSecret, SecretString};
use store::host::account;
use store::host::clock::{SystemClock, SystemEntropy};
use store::{SecretOrigin, Store};

use super::beside::{open, open_existing};
use super::remote::tell;
use super::rotate::{self, RotateLogArgs};
use super::say;
use crate::config::DatabaseArgs;
use crate::edge::keys::{IMPORT_BITS_MIN, KEY_CHARS_MAX, bits, generate, new_key};

#[derive(Subcommand)]
pub(super) enum KeysCommand {
    /// Make a key and print its secret, alone on standard output, this once.
    Create(CreateArgs),
    /// List keys, without their secrets.
    List(ListArgs),
    /// Revoke a key.
    Revoke(RevokeArgs),
    /// Store a secret that was made elsewhere; it is read from standard input.
    Import(ImportArgs),
    /// Put another key in force that signs checkpoints of the log.
    RotateLog(RotateLogArgs),
}

#[derive(Args)]
pub(super) struct Identity {
    /// The role of the key: agent, operator, admin, auditor, channel or verifier.
    #[arg(long)]
    role: Role,
    /// The name in the log; for an agent it is its identity.
    #[arg(long)]
    name: String,
    /// The name recorded for answers with this key; the name by default.
    #[arg(long)]
    subject: Option<String>,
    /// Groups keys: none of them may answer a question that another of them asked; the name by default.
    #[arg(long)]
    owner: Option<String>,
    /// For a gateway (role channel): the webhooks it passes messages on for. It sees and answers only questions sent by these
    /// webhooks, for the people they were sent to; with `email` it reports returned mail, and nothing else.
    #[arg(long = "for", value_name = "NAME", num_args = 1..)]
    tied_to: Option<Vec<String>>,
    /// For a gateway (role channel): it sees and answers every question whose id it knows, in the name of any person.
    #[arg(long)]
    unbound: bool,
    /// For an agent: the client program that uses the key. `openintent-0.17`, the Python package,
    /// asks in three calls, and the deadline of its questions cannot be moved.
    #[arg(long)]
    client: Option<Client>,
}

#[derive(Args)]
pub(super) struct CreateArgs {
    #[command(flatten)]
    identity: Identity,
    /// Print the key and its id as one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct ListArgs {
    /// Print JSON, one key per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct RevokeArgs {
    /// The key's id, as `placet keys list` shows it.
    id: String,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    identity: Identity,
    /// Accept a secret that can be guessed: for development only.
    #[arg(long)]
    weak: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(command: KeysCommand) -> anyhow::Result<()> {
    match command {
        KeysCommand::Create(args) => create(args).await,
        KeysCommand::List(args) => list(args).await,
        KeysCommand::Revoke(args) => {
            let store = open_existing(&args.database).await?;
            let id = id(&*store, &args.id).await?;
            let key = store.revoke_key(account::principal(), Ok(id)).await.with_context(|| format!("failed to revoke {id}"))?;
            Ok(say(format!("Revoked {} ({}); a running server stops accepting it within a second.", key.id, key.name))?)
        }
        KeysCommand::Import(args) => import(args).await,
        KeysCommand::RotateLog(args) => rotate::run(args).await,
    }
}

/// Reads the id of a key. A name is not accepted, because several keys may have one name; the error lists the ids of the keys
/// with that name.
async fn id(store: &dyn Store, typed: &str) -> anyhow::Result<KeyId> {
    if let Ok(id) = typed.parse() {
        return Ok(id);
    }
    let keys = store.keys(account::principal()).await?;
    let named = keys.iter().filter(|key| name::is_same(&key.name, typed) && key.revoked_at.is_none());
    let ids: Vec<String> = named.map(|key| format!("{} ({}, made {})", key.id, key.role, key.created_at.date_naive())).collect();
    match ids.as_slice() {
        [] => bail!("{typed:?} is no id of a key, and no valid key has this name; placet keys list shows all"),
        [one] => bail!("{typed:?} is the name of a key; revoke the key by its id: {one}"),
        _ => bail!("{typed:?} is the name of {} keys; revoke one by its id: {}", ids.len(), ids.join(", ")),
    }
}

async fn keep(
    database: &DatabaseArgs,
    identity: Identity,
    secret: &SecretString,
    origin: SecretOrigin,
) -> anyhow::Result<KeyView> {
    let Identity { role, name, subject, owner, tied_to, unbound, client } = identity;
    let request = CreateKeyRequest { role, name, subject, owner, tied_to, unbound, client };
    let channels = database.channels()?;
    let channels: Option<Vec<&str>> = channels.as_ref().map(|names| names.iter().map(String::as_str).collect());
    let id = KeyId(SystemEntropy.uuid(SystemClock.now()));
    let key = new_key(request, secret, id, channels.as_deref(), origin).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(|error| format!("--{} {}", error.field, error.message)).collect();
        anyhow::anyhow!(errors.join("; "))
    })?;
    Ok(open(database).await?.create_key(account::principal(), Ok(key)).await?)
}

async fn create(args: CreateArgs) -> anyhow::Result<()> {
    let secret = generate(args.identity.role, &SystemEntropy);
    let key = keep(&args.database, args.identity, &secret, SecretOrigin::Drawn).await?;
    if args.json {
        let created = CreatedKey { id: key.id, name: key.name, role: key.role, key: secret.expose_secret().to_owned() };
        return Ok(say(serde_json::to_string(&created)?)?);
    }
    // Only the secret goes to standard output, so that a shell can keep it: KEY=$(placet keys create …).
    let shown = if std::io::stdout().is_terminal() { "shown this once:" } else { "written to standard output this once" };
    tell(format!("key {} for {} ({}), {shown}", key.id, key.name, key.role));
    Ok(say(secret.expose_secret())?)
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    for key in open_existing(&args.database).await?.keys(account::principal()).await? {
        if args.json {
            say(serde_json::to_string(&key)?)?;
        } else {
            let revoked = if key.revoked_at.is_some() { "  revoked" } else { "" };
            let reach = match (key.role, &key.tied_to) {
                (Role::Channel, Some(names)) => format!("  for {}", names.join(", ")),
                (Role::Channel, None) => "  unbound".to_owned(),
                (Role::Agent | Role::Operator | Role::Admin | Role::Auditor | Role::Verifier, _) => String::new(),
            };
            let client = key.client.map(|client| format!("  client {client}")).unwrap_or_default();
            say(format!(
                "{}  {:<8}  {}  subject {}  owner {}{reach}{client}{revoked}",
                key.id,
                key.role.as_str(),
                key.name,
                key.subject,
                key.owner
            ))?;
        }
    }
    Ok(())
}

async fn import(args: ImportArgs) -> anyhow::Result<()> {
    let mut text = String::new();
    // Two bytes more than a secret may have: they hold the end of its line, or show that the secret is too long.
    std::io::stdin()
        .take(KEY_CHARS_MAX as u64 + 2)
        .read_to_string(&mut text)
        .context("failed to read the secret from standard input")?;
    let secret: SecretString = text.trim_end_matches(['\n', '\r']).to_owned().into();
    let text = secret.expose_secret();
    if text.is_empty() || text.len() > KEY_CHARS_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!(
            "the secret must be 1 to {KEY_CHARS_MAX} visible ASCII characters; pipe it in: printf %s \"$SECRET\" | placet keys import …"
        );
    }
    if bits(text) < IMPORT_BITS_MIN && !args.weak {
        bail!(
            "the secret can be guessed (under {IMPORT_BITS_MIN} bits); let `placet keys create` make one, or add --weak for development"
        );
    }
    let key = keep(&args.database, args.identity, &secret, SecretOrigin::Imported)
        .await
        .context("failed to import the key; was it imported before?")?;
    Ok(say(format!("Imported {} for {} ({}).", key.id, key.name, key.role))?)
}
