//! `placet receipt get | verify`: fetches the receipt of a decision, and checks one without a server.

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use placet::{Decision, LogKeys, Signed, VerifyingKey, verify_receipt, verify_signature};
use serde_json::Value;
use verify::command::read_passkeys;

use super::margins::Margins;
use super::question;
use super::remote::{self, EXIT_CODES, RemoteArgs, inert_line, print, print_json, print_laid_out};
use crate::terminal::columns;

/// The exit code for a receipt that is not accepted, or without the signature of a passkey that the caller demands.
const REFUSED: u8 = 1;
/// The first byte of a receipt in COSE: the tag of a message with one signature.
const COSE_BEGIN: u8 = 0xd2;

#[derive(Subcommand)]
pub(super) enum ReceiptCommand {
    /// Fetch the receipt of an answered question into a file that a third party checks; with an agent's, operator's or admin's key.
    Get(GetArgs),
    /// Check the file of a receipt without a server and without a network.
    Verify(CheckArgs),
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct GetArgs {
    /// The short id of the question, as `placet list --all` shows it, or its whole id.
    id: String,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Args)]
#[command(
    after_help = "Ends with 0 if the receipt is genuine and, with --passkeys, one of those passkeys signed the answer; with 1 if \
    the receipt is not accepted; and with 3 if it could not be checked."
)]
pub(super) struct CheckArgs {
    /// The file of the receipt, in JSON.
    file: PathBuf,
    /// A public key that you trust, as the log's holder gave it to you: NAME+HASH+KEY. May be repeated.
    #[arg(long = "key", value_name = "VKEY", required = true)]
    keys: Vec<VerifyingKey>,
    /// A public key that the log had before. It counts for the signature of the decision alone, because an earlier key may have been
    /// stolen: a key given with --key must have signed the checkpoint. May be repeated.
    #[arg(long = "earlier-key", value_name = "VKEY")]
    earlier_keys: Vec<VerifyingKey>,
    /// A file with passkeys of people that you knew beforehand, as `placet people passkeys` prints it. One of them must have signed the
    /// answer.
    #[arg(long, value_name = "FILE")]
    passkeys: Option<PathBuf>,
    /// Print the decision as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(command: ReceiptCommand) -> ExitCode {
    match command {
        ReceiptCommand::Get(args) => remote::exit_code(got(&args).await),
        ReceiptCommand::Verify(args) => match read(&args.file) {
            Ok(file) => checked(&args, &file),
            Err(error) => remote::exit_code(Err(error)),
        },
    }
}

async fn got(args: &GetArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("receipt", "agent, operator or admin")?;
    let question = question::find(&remote, &args.id).await?;
    let receipt = remote.heard(remote.client.receipt_of(question.id)).await;
    let receipt = receipt.map_err(|error| remote.failed(error).context("there is no receipt"))?;
    let text = serde_json::to_string_pretty(&receipt.receipt)?;
    let mut options = OpenOptions::new();
    // A file of another receipt is not overwritten.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let shown = args.out.display();
    let mut file = match options.open(&args.out) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists; name another file, or remove it"),
        opened => opened.with_context(|| format!("failed to make {shown}"))?,
    };
    file.write_all(text.as_bytes()).with_context(|| format!("failed to write {shown}"))?;
    let next = "A third party checks it with the log's public key: placet receipt verify --key KEY FILE";
    print_laid_out(&format!("{shown}: the receipt {}.\n{next}", receipt.receipt_id))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}

fn checked(args: &CheckArgs, file: &[u8]) -> ExitCode {
    let known = match args.passkeys.as_deref().map_or_else(|| Ok(Vec::new()), read_passkeys) {
        Ok(known) => known,
        Err(error) => return remote::exit_code(Err(error)),
    };
    let refused = |why: &dyn std::fmt::Display| {
        remote::tell(format!("{}: {why}", args.file.display()));
        ExitCode::from(REFUSED)
    };
    let keys = LogKeys { trusted: &args.keys, earlier: &args.earlier_keys };
    let decision = match verify_receipt(file, keys) {
        Ok(decision) => decision,
        Err(error) => return refused(&format_args!("not accepted: {error}{}", instead(file))),
    };
    match (verify_signature(&decision, &known), &args.passkeys) {
        (Err(error), _) => refused(&format_args!("not accepted: {error}")),
        (Ok(Signed::NotDemanded), Some(_)) => refused(&"the receipt is genuine, but no passkey signed the answer"),
        (Ok(Signed::Unknown), Some(passkeys)) => {
            let file = passkeys.display();
            refused(&format_args!("the receipt is genuine, but the passkey that signed the answer is not among those in {file}"))
        }
        (Ok(signed), None) | (Ok(signed @ Signed::ByKnown), Some(_)) => remote::exit_code(shown(&decision, signed, args.json)),
    }
}

/// A hint for a file that is no receipt in JSON: its likely form, and the next step; empty if that is not known.
fn instead(file: &[u8]) -> &'static str {
    if file.first() == Some(&COSE_BEGIN) {
        return "; it looks like a receipt in COSE, and this command reads receipts in JSON: fetch it without format=cose";
    }
    match serde_json::from_slice::<Value>(file) {
        Ok(reply) if reply["receipt"].is_object() => {
            "; this looks like the whole reply of the server: put the value of its member \"receipt\" alone into a file"
        }
        Ok(_) | Err(_) => "",
    }
}

/// The line about the signature of a passkey.
fn signature(signed: Signed) -> &'static str {
    match signed {
        Signed::NotDemanded => "not demanded",
        Signed::Unknown => "signed by a passkey that you do not know; give those that you knew beforehand with --passkeys",
        Signed::ByKnown => "signed by a passkey of this person that you knew beforehand",
    }
}

fn shown(decision: &Decision, signed: Signed, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(&serde_json::to_value(decision)?);
    }
    // An agent's words go on behind a bar, so no line of a question looks like a line of ours.
    let margins = Margins(if std::io::stdout().is_terminal() { columns() } else { usize::MAX });
    let words = |name: &str, text: &str| margins.labelled(&inert_line(text), &format!("{name:<14} "));
    let person = |name: &str, text: &str| margins.exact(text, &format!("{name:<14} "));
    let line = |name: &str, text: &str| margins.ours(&format!("{name:<14} {}", inert_line(text)));
    let answer = match &decision.meaning {
        Some(meaning) => format!("{} ({meaning})", decision.value),
        None => decision.value.to_string(),
    };
    let lines = [
        "The receipt is genuine.".to_owned(),
        words("question", &decision.question),
        person("asked by", &decision.asked_by),
        words("answer", &answer),
        person("answered by", &format!("{} ({})", decision.responded_by, decision.role)),
        line("passkey", signature(signed)),
        line("answered at", &domain::base::time::rfc3339(decision.responded_at)),
        line("action digest", &decision.action_digest.to_string()),
        line("receipt", &decision.receipt_id.to_string()),
        margins.ours("Only the server knows whether the receipt was used or revoked: use it there before you act."),
    ];
    print(&lines.join("\n"))
}
