//! Finds out whether a commit happened, if the reply to it was lost.
//!
//! Guarantee: the result is never wrong, but it may be unknown. Mechanism: a transaction's number alone proves little, because a
//! crash takes back the numbers whose transactions had not reached the disk, and other transactions get them. So the status
//! "aborted" means that ours was not committed, whichever transaction has the number now. The status "committed" may be that of
//! another transaction: ours was committed only if there is a row that no other transaction can have written. Failure: if there
//! is no row of that kind to look for, the outcome is unknown.

use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};

use super::pool::Pool;
use super::proof::Proof;
use super::session::Session;

/// How long the store tries to find out the outcome of a commit.
const LOOK_WITHIN: Duration = Duration::from_secs(10);
/// The pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A number that is not below a newly drawn one was never given, or was taken back by a crash. On a standby the query fails,
/// because a standby cannot draw a number. That is right, because a standby may still receive the commit.
const STATUS: &str =
    "SELECT CASE WHEN pg_current_xact_id() <= $1::xid8 THEN 'aborted' ELSE pg_xact_status($1::xid8) END AS status";
const EVENT: &str = "SELECT EXISTS (SELECT FROM events WHERE rid = $1 AND hash = $2) AS there";
const LEASE: &str = "SELECT EXISTS (SELECT FROM outbox WHERE rid = $1 AND lease = $2) AS there";

#[derive(QueryableByName)]
struct Looked {
    #[diesel(sql_type = Nullable<Text>)]
    status: Option<String>,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Bool)]
    there: bool,
}

/// Whether a transaction was committed; `None` if that cannot be found out.
pub(super) fn outcome(pool: &Pool, number: &str, proof: Option<&Proof>) -> Option<bool> {
    let until = Instant::now() + LOOK_WITHIN;
    while Instant::now() < until {
        if let Ok(mut session) = pool.take()
            && let Ok(status) = status(&mut session, number)
        {
            match status.as_deref() {
                Some("aborted") => {
                    pool.give_back(session);
                    return Some(false);
                }
                Some("committed") => {
                    // This statement comes after the status query, so it sees everything that was committed by then.
                    if let Ok(proven) = proven(&mut session, proof) {
                        pool.give_back(session);
                        return proven;
                    }
                }
                // The transaction is in progress: the database has not noticed yet that the connection broke.
                Some(_) => pool.give_back(session),
                // The transaction is too old for PostgreSQL to know its status.
                None => return None,
            }
        }
        std::thread::sleep(LOOK_PAUSE);
    }
    None
}

fn status(session: &mut Session, number: &str) -> QueryResult<Option<String>> {
    let looked = diesel::sql_query(STATUS).bind::<Text, _>(number).get_result::<Looked>(&mut session.conn)?;
    Ok(looked.status)
}

/// Whether the committed transaction under the number is ours; `None` if that cannot be told.
fn proven(session: &mut Session, proof: Option<&Proof>) -> QueryResult<Option<bool>> {
    let mut is_there = |sql: &str, rid: i64, bytes: &[u8]| {
        let look = diesel::sql_query(sql).bind::<BigInt, _>(rid).bind::<Binary, _>(bytes);
        look.get_result::<Found>(&mut session.conn).map(|found| found.there)
    };
    Ok(match proof {
        Some(Proof::Event { rid, hash }) => Some(is_there(EVENT, *rid, hash)?),
        Some(Proof::Lease { rid, lease }) => is_there(LEASE, *rid, lease)?.then_some(true),
        None => None,
    })
}
