//! A PostgreSQL database: whether it can be reached, belongs to this program, and has room for this server.

use chrono::TimeDelta;
use store::Inspection;
use store::postgres::{Address, Examination, examine};

use super::database;
use super::finding::Finding;
use crate::edge::instance::INSTANCE_SECRET;

const CHECK: &str = "database";
/// How far the database's clock may differ from this machine's: deadlines go by the database's clock, and pages count down by
/// this machine's.
const CLOCKS_APART_MAX: TimeDelta = TimeDelta::seconds(2);

/// Examines the database without changing anything; returns the inspection if it can be read.
pub(super) async fn check(
    address: &Address,
    connections: u32,
    needs_key: bool,
    findings: &mut Vec<Finding>,
) -> Option<Inspection> {
    let Examination { inspection, ahead, connections_free, durable, has_checksums } =
        match examine(address, INSTANCE_SECRET).await {
            Ok(examination) => examination,
            Err(error) => {
                findings.push(Finding::fail(
                    CHECK,
                    format!("The database cannot be used: {error:#}."),
                    "A server does not start like this; docs/operating.md says what PLACET_DATABASE_URL may be.",
                ));
                return None;
            }
        };
    if address.is_exposed() {
        findings.push(Finding::warn(
            CHECK,
            "The database is reached over a network unencrypted: every machine on the way can read the password, questions and answers.",
            "Take sslmode=disable out of PLACET_DATABASE_URL; if the certificate is from your own authority, name that with sslrootcert=FILE.",
        ));
    }
    findings.push(database::tables(&address.to_string(), &inspection.schema));
    findings.extend(database::held(&inspection));
    database::keys(&inspection, needs_key, findings);
    if ahead.abs() > CLOCKS_APART_MAX {
        findings.push(Finding::warn(
            "clock",
            format!("The database's clock differs from this machine's by {} ms.", ahead.num_milliseconds()),
            "Keep both right with a time service (chrony, systemd-timesyncd): deadlines go by the database's clock.",
        ));
    }
    if connections_free < i64::from(connections) {
        findings.push(Finding::warn(
            CHECK,
            format!("The server makes up to {connections} connections, and PostgreSQL has {connections_free} to give."),
            "Raise max_connections in PostgreSQL, or lower PLACET_DATABASE_CONNECTIONS. (A server that runs has taken its own already.)",
        ));
    }
    if !has_checksums {
        findings.push(Finding::warn(
            CHECK,
            "PostgreSQL runs without data checksums: a bit that the disk changes in the state beside the log is not noticed.",
            "Stop PostgreSQL and run: pg_checksums --enable",
        ));
    }
    if !durable {
        findings.push(Finding::fail(
            CHECK,
            "PostgreSQL runs with fsync or full_page_writes off: a power failure loses answers or the whole database.",
            "Set both to on in postgresql.conf.",
        ));
    }
    Some(inspection)
}
