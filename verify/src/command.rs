//! The command line of the verifier: `placet-verify`, and `placet verify` of the server's program, are this one command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use domain::base::passkey::KnownPasskey;
use proof::key::VerifyingKey;

use crate::export::Options;
use crate::files::verify_files;
use crate::kept::Kept;
use crate::progress::Progress;
use crate::report::Verdict;
use crate::words::words;

/// The exit code for a file that cannot be read, and for a missing key.
const UNREADABLE: u8 = 2;

/// The meaning of the exit codes, for the help of both programs.
pub const EXIT_CODES: &str = "\
Exit codes: 0 if everything is right, 1 if something is wrong, 2 if a file cannot be read or no key is given.
A command line that cannot be understood ends placet-verify with 2, and placet verify with 3, as each command of placet.";

/// The arguments of the command.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct VerifyArgs {
    /// Exports. Several exports of the same log are also compared with one another.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A public key that you trust, as the log's holder gave it to you: NAME+HASH+KEY. May be repeated.
    #[arg(long = "key", value_name = "VKEY")]
    keys: Vec<VerifyingKey>,
    /// A file with public keys that you trust, one on each line. May be repeated.
    #[arg(long = "key-file", value_name = "FILE")]
    key_files: Vec<PathBuf>,
    /// A file with checkpoints of the log that you kept earlier: one, or several with an empty line behind each. May be repeated.
    #[arg(long = "checkpoint", value_name = "FILE")]
    checkpoints: Vec<PathBuf>,
    /// A file with passkeys of people that you knew beforehand, as `placet people passkeys` prints it. May be repeated.
    #[arg(long = "passkeys", value_name = "FILE")]
    passkeys: Vec<PathBuf>,
    /// Trusts the key that the export itself names. This does not show which server the export comes from.
    #[arg(long)]
    trust_export_key: bool,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Verifies the files, prints the report, and returns the exit code. `program` is the name under which the person started it.
pub fn run(program: &str, arguments: VerifyArgs) -> ExitCode {
    match report(arguments) {
        Ok(Verdict::Verified) => ExitCode::SUCCESS,
        Ok(Verdict::NotVerified) => ExitCode::FAILURE,
        Ok(Verdict::Failed) => ExitCode::from(UNREADABLE),
        Err(error) => {
            tell(&format!("{program}: {error:#}"));
            ExitCode::from(UNREADABLE)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the program talks to the person who started it")]
fn tell(text: &str) {
    eprintln!("{text}");
}

/// Reads a file with passkeys of people: a JSON list of `{person, credential_id, public_key, rp_id}`.
///
/// # Errors
///
/// The file cannot be read, or has another form.
pub fn read_passkeys(file: &Path) -> Result<Vec<KnownPasskey>> {
    let bytes = std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is no list of passkeys", file.display()))
}

fn report(arguments: VerifyArgs) -> Result<Verdict> {
    let mut options = Options::with_keys(arguments.keys);
    options.trusts_export_key = arguments.trust_export_key;
    for file in &arguments.key_files {
        let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            options.keys.push(line.parse().with_context(|| format!("failed to read a key of {}", file.display()))?);
        }
    }
    if options.keys.is_empty() && !options.trusts_export_key {
        anyhow::bail!(
            "no key is given, and without one anyone could have made the export. Give the log's public key with --key or \
             --key-file; --trust-export-key takes the key from the export, which does not show where the export comes from"
        );
    }
    for file in &arguments.checkpoints {
        let note = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
        options.kept.extend(Kept::all(&file.display().to_string(), &note));
    }
    for file in &arguments.passkeys {
        options.passkeys.extend(read_passkeys(file)?);
    }
    let mut progress = Progress::new();
    let outcome = verify_files(&arguments.files, &options, |file, read, length| progress.show(file, read, length));
    progress.end();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &outcome)?;
        writeln!(out)?;
    } else {
        let texts: Vec<_> = outcome.exports.iter().map(words).collect();
        write!(out, "{}", texts.join("\n"))?;
    }
    out.flush()?;
    Ok(outcome.verdict)
}
