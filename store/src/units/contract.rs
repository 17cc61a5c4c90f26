//! The contract of an intent as a phase of a workflow (RFC-0024), with the dependencies from which it takes its inputs.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::contract::{Phase, Supplier};
use domain::intent::dependency::DEPENDENCIES_MAX;
use domain::intent::status::Status;

use super::holding_up::{holding_up, resumes_at};
use super::loaded::Loaded;
use super::tasks;
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{EdgeKind, IntentRow, RowsResult};

/// Loads the contract of the intent if the command is judged by it.
pub(super) fn load<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, now: DateTime<Utc>) -> RowsResult<()> {
    let claims = match &request.command {
        // The agent that holds the scope has begun its work, and only prolongs its lease.
        Ok(Command::AcquireLease { scope, .. }) if loaded.intent.lease_on(scope, now).is_some() => return Ok(()),
        Ok(Command::AcquireLease { .. }) => true,
        Ok(Command::Task(task)) if tasks::begins(task) => true,
        Ok(Command::SetStatus { status: Status::Completed, announces: None, .. }) => false,
        Ok(_) | Err(_) => return Ok(()),
    };
    if claims && loaded.intent.unmet > 0 && loaded.intent.held_up_by.is_none() {
        loaded.intent.held_up_by = holding_up(rows, loaded)?.map(Box::new);
    }
    let body = rows.reads().body(loaded.row.rid)?;
    let Some(mut phase) = Phase::of(body.title, body.state) else { return Ok(()) };
    if claims {
        load_suppliers(rows, loaded.row.rid, &mut phase)?;
    }
    loaded.intent.phase = Some(Box::new(phase));
    Ok(())
}

/// Loads the dependencies from which the phase takes inputs.
fn load_suppliers<R: Rows>(rows: &mut R, rid: i64, phase: &mut Phase) -> RowsResult<()> {
    let limit = u32::try_from(DEPENDENCIES_MAX).unwrap_or(u32::MAX);
    let edges = rows.reads().needs_of(&[rid], Some(EdgeKind::Dependency), limit)?;
    let needed: Vec<i64> = edges.into_iter().map(|edge| edge.needs).collect();
    if needed.is_empty() {
        return Ok(());
    }
    let mut rids = Vec::new();
    for (row, label) in rows.reads().nodes(&needed)? {
        if phase.may_take_from(&label.title) {
            phase.suppliers.push(supplier(rows, &row, label.title)?);
            rids.push(row.rid);
        }
    }
    // If one of them waits for a person, the lease is refused whatever the others have, so their states are not read.
    if phase.suspended().is_none() {
        for (supplier, rid) in phase.suppliers.iter_mut().zip(rids) {
            if supplier.status == Status::Completed {
                supplier.keys = rows.reads().body(rid)?.state.into_iter().map(|(key, _)| key).collect();
            }
        }
    }
    Ok(())
}

fn supplier<R: Rows>(rows: &mut R, row: &IntentRow, title: String) -> RowsResult<Supplier> {
    let resumes_at = resumes_at(rows, row)?;
    Ok(Supplier { id: row.intent.id, title, status: row.intent.status, keys: HashSet::new(), resumes_at })
}
