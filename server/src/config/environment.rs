//! The environment. Besides the parser of the command line, only this file reads it.

use std::path::PathBuf;

use anyhow::{Context, bail};
use secrecy::SecretString;

/// Reads a secret from the environment; secrets have no flags, because other users can read command lines.
///
/// # Errors
///
/// A `…_FILE` that cannot be read or is empty, or one that is set beside the secret itself.
pub fn secret_from_environment(name: &str) -> anyhow::Result<Option<SecretString>> {
    let value = environment(name);
    let Some(file) = secret_file(name) else { return Ok(value.map(SecretString::from)) };
    if value.is_some() {
        bail!("{name} and {name}_FILE are both set; keep one of them");
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("failed to read {name}_FILE ({})", file.display()))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        bail!("the file of {name}_FILE, {}, is empty; put the value into it, or take {name}_FILE away", file.display());
    }
    Ok(Some(text.to_owned().into()))
}

/// The file from which a secret is read, if the environment names one.
pub fn secret_file(name: &str) -> Option<PathBuf> {
    environment(&format!("{name}_FILE")).map(PathBuf::from)
}

/// A variable, unless its value is empty.
pub(super) fn environment(name: &str) -> Option<String> {
    read(name).filter(|value| !value.is_empty())
}

/// Whether a variable is set to an empty value.
pub fn is_set_to_nothing(name: &str) -> bool {
    read(name).is_some_and(|value| value.is_empty())
}

fn read(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    let value = std::env::var(name);
    value.ok()
}
