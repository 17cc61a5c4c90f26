//! The account this process runs under.

use domain::people::principal::Principal;

/// The principal in whose name this process works on the database: `local:<uid>@<host>`.
pub fn principal() -> Principal {
    Principal::local(&account())
}

#[cfg(unix)]
fn account() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{}@{host}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn account() -> String {
    "0@localhost".to_owned()
}
