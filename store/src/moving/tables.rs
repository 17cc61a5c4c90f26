//! How the rows of each table travel: in which order, and how a value of SQLite is written so that PostgreSQL reads it.
//!
//! Rows travel as lines of PostgreSQL's text format for COPY. PostgreSQL writes a row back as the same line, so comparing the
//! lines compares everything. The columns and their kinds come from `schema`; a table that is missing here is refused before
//! anything moves.

use std::io::Write;

use anyhow::{Context, bail};
use diesel::Expression;
use diesel::sql_types as native;
use domain::base::time::from_micros;
use uuid::Uuid;

use crate::{schema, sql};

/// The kind of a column's values, in both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
    Real,
    Text,
    /// Text of callers: text in SQLite; in PostgreSQL a JSON string, because PostgreSQL's text cannot hold `\u0000`.
    Words,
    Json,
    Bytes,
    /// A UUID, in SQLite its 16 bytes.
    Id,
    /// A moment, in SQLite microseconds since 1970.
    Moment,
}

/// A type of the schema whose values can be moved.
trait Travels {
    const KIND: Kind;
}

macro_rules! travel {
    ($($sql:ty => $kind:ident),* $(,)?) => {
        $(impl Travels for $sql {
            const KIND: Kind = Kind::$kind;
        })*
    };
}

travel!(
    native::BigInt => Number,
    native::Integer => Number,
    native::Bool => Truth,
    native::Double => Real,
    native::Text => Text,
    native::Binary => Bytes,
    sql::Prose => Words,
    sql::Document => Json,
    sql::Id => Id,
    sql::Moment => Moment,
);

impl<T: Travels + native::SqlType> Travels for native::Nullable<T> {
    const KIND: Kind = T::KIND;
}

/// A column of both databases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    kind: Kind,
}

/// All columns of a table of the schema, which diesel gives as a tuple.
trait Columns {
    const LIST: &'static [Column];
}

/// Implements `Columns` for the tuple of all the given type parameters, then for the tuple without the first of them, and so on
/// down to a tuple of one.
macro_rules! tuples {
    () => {};
    ($first:ident $($column:ident)*) => {
        impl<$first: diesel::Column, $($column: diesel::Column),*> Columns for ($first, $($column,)*)
        where
            <$first as Expression>::SqlType: Travels,
            $(<$column as Expression>::SqlType: Travels),*
        {
            const LIST: &'static [Column] = &[
                Column { name: $first::NAME, kind: <<$first as Expression>::SqlType as Travels>::KIND },
                $(Column { name: $column::NAME, kind: <<$column as Expression>::SqlType as Travels>::KIND }),*
            ];
        }

        tuples!($($column)*);
    };
}

tuples!(A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Aa Bb Cc Dd Ee Ff);

/// A table of both databases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// The primary key: rows are moved and compared in its order.
    key: &'static [&'static str],
    /// The columns that SQLite does not have, each with the expression that is selected from SQLite instead.
    instead: &'static [(&'static str, &'static str)],
    /// The sequence from which PostgreSQL draws the next `rid`.
    pub(super) draws_from: Option<&'static str>,
    /// Whether the contents of the table count in the file's fingerprint: the table is always small, and it changes with every
    /// run of a server, or with every command that makes a key.
    pub(super) tells_runs_apart: bool,
}

impl Table {
    const fn draws_from(self, sequence: &'static str) -> Self {
        Self { draws_from: Some(sequence), ..self }
    }

    const fn instead(self, instead: &'static [(&'static str, &'static str)]) -> Self {
        Self { instead, ..self }
    }

    const fn tells_runs_apart(self) -> Self {
        Self { tells_runs_apart: true, ..self }
    }
}

/// A table of the schema, with the columns of its primary key.
macro_rules! table {
    ($name:ident, $($key:ident),+) => {
        Table {
            name: stringify!($name),
            columns: <<schema::$name::table as diesel::Table>::AllColumns as Columns>::LIST,
            key: &[$(<schema::$name::$key as diesel::Column>::NAME),+],
            instead: &[],
            draws_from: None,
            tells_runs_apart: false,
        }
    };
}

/// All tables; a table comes after the tables that its rows refer to.
pub(super) const TABLES: &[Table] = &[
    table!(intents, rid).draws_from("intents_rid"),
    table!(intent_bodies, rid),
    table!(events, rid).draws_from("events_rid"),
    table!(graph_edges, intent, kind, needs),
    table!(completions, intent),
    table!(retries, intent),
    table!(receipts, suspension),
    table!(redactions, intent, last_sequence),
    table!(holds, id),
    table!(suspensions, rid).draws_from("suspensions_rid"),
    table!(stops, suspension),
    table!(wakes, name, suspension, provider),
    table!(wake_posts, endpoint, suspension),
    table!(suspension_keys, key_hash),
    table!(suspension_traces, suspension),
    table!(idempotency, day, key_hash),
    table!(timers, due_at, suspension, kind, attempt),
    // No living server has the number 0, so messages that were under way when the file's server died are due again at the
    // first start.
    table!(outbox, rid)
        .draws_from("outbox_rid")
        .instead(&[("leased_by", "CASE WHEN lease IS NULL THEN NULL ELSE 0 END AS leased_by")]),
    table!(bounces, outbox),
    table!(departures, pair, left_at, outbox),
    table!(places, pair, leaves_at, outbox),
    table!(tokens, rid).draws_from("tokens_rid"),
    table!(assignments, intent, agent_id),
    table!(access_entries, intent, principal_id),
    table!(access_requests, intent, id),
    table!(announcements, intent),
    table!(client_ids, intent, client_id),
    table!(portfolios, rid).draws_from("portfolios_rid_seq"),
    table!(portfolio_events, portfolio, sequence),
    table!(portfolio_members, portfolio, intent),
    table!(subscriptions, rid).draws_from("subscriptions_rid_seq"),
    // A file has one writer, so its row ids are in the order of the commits and can serve as positions.
    table!(published, rid).instead(&[("position", "rid AS position")]),
    table!(plans, rid).draws_from("plans_rid_seq"),
    table!(coordinators, rid).draws_from("coordinators_rid_seq"),
    table!(tasks, rid).draws_from("tasks_rid_seq"),
    table!(leases, rid).draws_from("leases_rid_seq"),
    table!(api_keys, rid).draws_from("api_keys_rid_seq").tells_runs_apart(),
    table!(views, suspension, recipient),
    table!(counted_answers, suspension, person),
    table!(inbox, place, due_at, suspension, keeps_owner, is_plain),
    table!(answered, person, suspension),
    table!(people_groups, rid).draws_from("people_groups_rid_seq"),
    table!(people_group_members, people_group, person),
    table!(people, rid).draws_from("people_rid_seq"),
    table!(logins, rid).draws_from("logins_rid_seq"),
    table!(sessions, rid).draws_from("sessions_rid_seq"),
    table!(passkeys, rid).draws_from("passkeys_rid_seq"),
    table!(identities, rid).draws_from("identities_rid_seq"),
    table!(openid_logins, rid).draws_from("openid_logins_rid_seq"),
    table!(unsent_answers, suspension, person, browser),
    table!(drafts, suspension, person),
    table!(alerts, suspension, person),
    table!(errands, intent),
    table!(server_events, sequence),
    table!(server_log, rid).tells_runs_apart(),
    table!(tree, rid).tells_runs_apart(),
    table!(unplaced, source, subject, number),
    table!(tree_tiles, level, number),
    table!(tree_runs, first_leaf),
    table!(checkpoints, size),
    table!(witnesses, key),
    table!(log_keys, rid).tells_runs_apart(),
    table!(agent_bytes, day, agent, part),
    table!(secrets, name).tells_runs_apart(),
    table!(presence, rid).instead(&[("version", "1 AS version")]).tells_runs_apart(),
];

/// The purpose for which a line is made. A fraction is written differently for each, because PostgreSQL's
/// own way of writing fractions would be hard to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Read by PostgreSQL.
    Written,
    /// Compared with the line that PostgreSQL writes for [`Table::read_back`].
    ReadBack,
}

/// A value in SQLite.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Nothing,
    Whole(i64),
    Fraction(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Table {
    /// The expression that is selected from SQLite for a column: the column itself, if SQLite has it.
    pub(super) fn in_sqlite(&self, column: &Column) -> &'static str {
        self.instead.iter().find(|(name, _)| *name == column.name).map_or(column.name, |(_, instead)| instead)
    }

    /// The query that reads all rows behind the first `skip` from SQLite.
    pub(super) fn read(&self, skip: u64) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|column| self.in_sqlite(column)).collect();
        // SQLite knows an OFFSET only behind a LIMIT.
        format!("SELECT {} FROM {} ORDER BY {} LIMIT -1 OFFSET {skip}", columns.join(", "), self.name, self.key.join(", "))
    }

    /// The command to PostgreSQL that precedes the lines of rows.
    pub(super) fn write(&self) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        format!("COPY {} ({}) FROM STDIN", self.name, columns.join(", "))
    }

    /// The command that makes PostgreSQL write the lines of [`Form::ReadBack`].
    pub(super) fn read_back(&self) -> String {
        let said = |column: &Column| match column.kind {
            Kind::Moment => format!("to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00'", column.name),
            Kind::Real => format!("encode(float8send({}), 'hex')", column.name),
            Kind::Number | Kind::Truth | Kind::Text | Kind::Words | Kind::Json | Kind::Bytes | Kind::Id => column.name.to_owned(),
        };
        let columns: Vec<String> = self.columns.iter().map(said).collect();
        // SQLite sorts text by its bytes, so PostgreSQL must do the same.
        let text = |name: &&str| self.columns.iter().any(|column| column.name == *name && column.kind == Kind::Text);
        let key: Vec<String> =
            self.key.iter().map(|name| if text(name) { format!("{name} COLLATE \"C\"") } else { (*name).to_owned() }).collect();
        format!("COPY (SELECT {} FROM {} ORDER BY {}) TO STDOUT", columns.join(", "), self.name, key.join(", "))
    }

    /// Appends a row's line to `out`.
    ///
    /// # Errors
    ///
    /// A value that is not of its column's kind. The error names the column and not the value.
    pub(super) fn line(&self, cells: &[Cell], form: Form, out: &mut Vec<u8>) -> anyhow::Result<()> {
        if cells.len() != self.columns.len() {
            bail!("a row of {} has {} columns instead of {}", self.name, cells.len(), self.columns.len());
        }
        for (index, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            field(column.kind, cell, form, out)
                .with_context(|| format!("failed to understand {} in a row of {}", column.name, self.name))?;
        }
        out.push(b'\n');
        Ok(())
    }
}

fn field(kind: Kind, cell: &Cell, form: Form, out: &mut Vec<u8>) -> anyhow::Result<()> {
    match (kind, cell) {
        (_, Cell::Nothing) => out.extend_from_slice(b"\\N"),
        (Kind::Number, Cell::Whole(number)) => write!(out, "{number}")?,
        (Kind::Truth, Cell::Whole(number @ (0 | 1))) => out.push(if *number == 1 { b't' } else { b'f' }),
        // SQLite stores a fraction without decimals as a whole number.
        #[expect(clippy::cast_precision_loss, reason = "SQLite made the whole number from this fraction")]
        (Kind::Real, Cell::Whole(number)) => fraction(*number as f64, form, out)?,
        (Kind::Real, Cell::Fraction(number)) => fraction(*number, form, out)?,
        (Kind::Text | Kind::Json, Cell::Text(text)) => escape(text, out),
        (Kind::Words, Cell::Text(text)) => escape(&serde_json::to_string(text)?, out),
        (Kind::Bytes, Cell::Bytes(bytes)) => {
            out.extend_from_slice(b"\\\\x");
            for byte in bytes {
                write!(out, "{byte:02x}")?;
            }
        }
        (Kind::Id, Cell::Bytes(bytes)) => write!(out, "{}", Uuid::from_slice(bytes).context("an id of the wrong length")?)?,
        (Kind::Moment, Cell::Whole(micros)) => write!(out, "{}", from_micros(*micros).format("%Y-%m-%d %H:%M:%S%.6f+00"))?,
        // The value is not repeated: it may be the text of a question.
        (kind, _) => bail!("the value is no {kind:?}"),
    }
    Ok(())
}

fn fraction(number: f64, form: Form, out: &mut Vec<u8>) -> std::io::Result<()> {
    match form {
        Form::Written => write!(out, "{number}"),
        Form::ReadBack => write!(out, "{:016x}", number.to_bits()),
    }
}

/// Writes text as COPY does.
fn escape(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        let letter = match byte {
            b'\\' => b'\\',
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: Kind, cell: &Cell, form: Form) -> String {
        let mut out = Vec::new();
        field(kind, cell, form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Characters that mean something else to COPY, like tabs and backslashes, are escaped, so that text arrives as its author
    /// wrote it.
    #[test]
    fn values_are_written_as_copy_writes_them() {
        for (kind, cell, written) in [
            (Kind::Text, Cell::Text("a\\b\tc\nd\re\u{8}\u{b}\u{c}é".into()), "a\\\\b\\tc\\nd\\re\\b\\v\\fé"),
            (Kind::Text, Cell::Text("\\N".into()), "\\\\N"),
            (Kind::Text, Cell::Text(String::new()), ""),
            (Kind::Text, Cell::Nothing, "\\N"),
            (Kind::Words, Cell::Text("say \"hi\"\u{0}\n".into()), r#""say \\"hi\\"\\u0000\\n""#),
            (Kind::Json, Cell::Text(r#"{"a": 1.0}"#.into()), r#"{"a": 1.0}"#),
            (Kind::Bytes, Cell::Bytes(vec![0, 255]), "\\\\x00ff"),
            (Kind::Moment, Cell::Whole(1_795_252_415_000_007), "2026-11-21 09:13:35.000007+00"),
            (Kind::Truth, Cell::Whole(1), "t"),
            (Kind::Real, Cell::Fraction(0.000_000_1), "0.0000001"),
            (Kind::Id, Cell::Bytes(vec![1; 16]), "01010101-0101-0101-0101-010101010101"),
        ] {
            assert_eq!(line(kind, &cell, Form::Written), written);
        }
        assert_eq!(line(Kind::Real, &Cell::Whole(1), Form::ReadBack), "3ff0000000000000");
    }

    /// A value of the wrong kind is refused. The error does not repeat the value, because errors end up in logs and tickets.
    #[test]
    fn a_value_of_another_kind_is_refused_without_repeating_it() {
        for (kind, cell) in [
            (Kind::Number, Cell::Text("hunter2".into())),
            (Kind::Truth, Cell::Whole(2)),
            (Kind::Id, Cell::Bytes(vec![1; 15])),
            (Kind::Text, Cell::Bytes(b"hunter2".to_vec())),
        ] {
            let refused = format!("{:#}", field(kind, &cell, Form::Written, &mut Vec::new()).unwrap_err());
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
