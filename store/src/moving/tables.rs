//! Every table and column, and how a value of SQLite is written so that PostgreSQL reads it.
//!
//! Rows travel as lines of PostgreSQL's text format for COPY. PostgreSQL writes a row back as the same line, so comparing the
//! lines compares everything. A table or column that is missing here is refused before anything moves.

use std::io::Write;

use anyhow::{Context, bail};
use domain::base::time::from_micros;
use uuid::Uuid;

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

/// A column of both databases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    kind: Kind,
    /// The expression that SQLite is asked for where it has no column of this name.
    instead: Option<&'static str>,
}

impl Column {
    /// Whether only PostgreSQL has the column.
    pub(super) fn is_new(&self) -> bool {
        self.instead.is_some()
    }
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, instead: None }
}

/// A table of both databases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// The primary key: rows are moved and compared in its order.
    key: &'static [&'static str],
    /// The sequence from which PostgreSQL draws the next `rid`.
    pub(super) draws_from: Option<&'static str>,
    /// Whether the table changes with every run of a server, or with commands beside one, and is always small.
    pub(super) tells_runs_apart: bool,
}

/// All tables; a table comes after the tables that its rows refer to.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "intents",
        columns: &[
            column("rid", Kind::Number),
            column("id", Kind::Id),
            column("status", Kind::Number),
            column("version", Kind::Number),
            column("creator", Kind::Text),
            column("creator_owner", Kind::Text),
            column("created_at", Kind::Moment),
            column("updated_at", Kind::Moment),
            column("open_suspension", Kind::Number),
            column("newest_suspension", Kind::Number),
            column("has_leases", Kind::Truth),
            column("last_event", Kind::Number),
            column("last_sequence", Kind::Number),
            column("last_hash", Kind::Bytes),
        ],
        key: &["rid"],
        draws_from: Some("intents_rid"),
        tells_runs_apart: false,
    },
    Table {
        name: "intent_bodies",
        columns: &[
            column("rid", Kind::Number),
            column("title", Kind::Words),
            column("description", Kind::Words),
            column("created_by", Kind::Words),
            column("parent", Kind::Id),
            column("depends_on", Kind::Json),
            column("constraints", Kind::Json),
            column("state", Kind::Json),
            column("governance_policy", Kind::Json),
            column("confidence", Kind::Real),
        ],
        key: &["rid"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "events",
        columns: &[
            column("rid", Kind::Number),
            column("intent", Kind::Number),
            column("previous", Kind::Number),
            column("event_type", Kind::Text),
            column("created_at", Kind::Moment),
            column("bytes", Kind::Bytes),
            column("hash", Kind::Bytes),
        ],
        key: &["rid"],
        draws_from: Some("events_rid"),
        tells_runs_apart: false,
    },
    Table {
        name: "suspensions",
        columns: &[
            column("rid", Kind::Number),
            column("id", Kind::Id),
            column("intent", Kind::Number),
            column("event", Kind::Number),
            column("kind", Kind::Number),
            column("version", Kind::Number),
            column("attempt", Kind::Number),
            column("response_type", Kind::Number),
            column("choices", Kind::Json),
            column("suspended_at", Kind::Moment),
            column("expires_at", Kind::Moment),
            column("fallback_policy", Kind::Number),
            column("fallback_value", Kind::Json),
            column("reached", Kind::Truth),
            column("requires_delivery", Kind::Truth),
            column("refusals", Kind::Number),
            column("asker", Kind::Text),
            column("asker_owner", Kind::Text),
            column("resolution", Kind::Number),
            column("resolution_reason", Kind::Number),
            column("resolved_at", Kind::Moment),
            column("response", Kind::Json),
            column("resolved_by", Kind::Text),
            column("metadata", Kind::Json),
            column("reminded_at", Kind::Moment),
        ],
        key: &["rid"],
        draws_from: Some("suspensions_rid"),
        tells_runs_apart: false,
    },
    Table {
        name: "suspension_keys",
        columns: &[column("key_hash", Kind::Bytes), column("body_hash", Kind::Bytes), column("suspension", Kind::Number)],
        key: &["key_hash"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "suspension_traces",
        columns: &[column("suspension", Kind::Number), column("context", Kind::Text)],
        key: &["suspension"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "idempotency",
        columns: &[
            column("day", Kind::Number),
            column("key_hash", Kind::Bytes),
            column("body_hash", Kind::Bytes),
            column("outcome", Kind::Text),
            column("created_at", Kind::Moment),
        ],
        key: &["day", "key_hash"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "timers",
        columns: &[
            column("due_at", Kind::Moment),
            column("suspension", Kind::Number),
            column("kind", Kind::Number),
            column("attempt", Kind::Number),
        ],
        key: &["due_at", "suspension", "kind", "attempt"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "outbox",
        columns: &[
            column("rid", Kind::Number),
            column("id", Kind::Id),
            column("suspension", Kind::Number),
            column("attempt", Kind::Number),
            column("channel", Kind::Text),
            column("recipient", Kind::Text),
            column("state", Kind::Number),
            column("due_at", Kind::Moment),
            column("tries", Kind::Number),
            column("lease", Kind::Bytes),
            // 0 is the number of no living server: messages under way when the file's server died are due
            // again at the first start.
            Column {
                name: "leased_by",
                kind: Kind::Number,
                instead: Some("CASE WHEN lease IS NULL THEN NULL ELSE 0 END AS leased_by"),
            },
            column("sequence", Kind::Number),
            column("detail", Kind::Words),
            column("settled_at", Kind::Moment),
            column("queued_at", Kind::Moment),
            column("linked", Kind::Truth),
        ],
        key: &["rid"],
        draws_from: Some("outbox_rid"),
        tells_runs_apart: false,
    },
    Table {
        name: "bounces",
        columns: &[
            column("outbox", Kind::Number),
            column("hard", Kind::Truth),
            column("reported_at", Kind::Moment),
            column("detail", Kind::Words),
        ],
        key: &["outbox"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "departures",
        columns: &[column("pair", Kind::Number), column("left_at", Kind::Moment), column("outbox", Kind::Number)],
        key: &["pair", "left_at", "outbox"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "places",
        columns: &[column("pair", Kind::Number), column("leaves_at", Kind::Moment), column("outbox", Kind::Number)],
        key: &["pair", "leaves_at", "outbox"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "tokens",
        columns: &[
            column("rid", Kind::Number),
            column("hash", Kind::Bytes),
            column("suspension", Kind::Number),
            column("recipient", Kind::Text),
            column("created_at", Kind::Moment),
            column("delivery", Kind::Id),
        ],
        key: &["rid"],
        draws_from: Some("tokens_rid"),
        tells_runs_apart: false,
    },
    Table {
        name: "leases",
        columns: &[
            column("rid", Kind::Number),
            column("id", Kind::Id),
            column("intent", Kind::Number),
            column("agent_id", Kind::Text),
            column("scope", Kind::Words),
            column("status", Kind::Number),
            column("acquired_at", Kind::Moment),
            column("expires_at", Kind::Moment),
            column("released_at", Kind::Moment),
            column("duration_seconds", Kind::Number),
        ],
        key: &["rid"],
        draws_from: Some("leases_rid_seq"),
        tells_runs_apart: false,
    },
    Table {
        name: "api_keys",
        columns: &[
            column("rid", Kind::Number),
            column("id", Kind::Id),
            column("name", Kind::Text),
            column("role", Kind::Number),
            column("subject", Kind::Text),
            column("owner", Kind::Text),
            column("hash", Kind::Bytes),
            column("created_at", Kind::Moment),
            column("revoked_at", Kind::Moment),
            column("tied_to", Kind::Text),
        ],
        key: &["rid"],
        draws_from: Some("api_keys_rid_seq"),
        tells_runs_apart: true,
    },
    Table {
        name: "server_events",
        columns: &[
            column("sequence", Kind::Number),
            column("event_type", Kind::Text),
            column("created_at", Kind::Moment),
            column("bytes", Kind::Bytes),
            column("hash", Kind::Bytes),
        ],
        key: &["sequence"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "server_log",
        columns: &[
            column("rid", Kind::Number),
            column("last_sequence", Kind::Number),
            column("last_hash", Kind::Bytes),
            column("last_at", Kind::Moment),
        ],
        key: &["rid"],
        draws_from: None,
        tells_runs_apart: true,
    },
    Table {
        name: "agent_bytes",
        columns: &[
            column("agent", Kind::Text),
            column("day", Kind::Number),
            column("part", Kind::Number),
            column("bytes", Kind::Number),
        ],
        key: &["day", "agent", "part"],
        draws_from: None,
        tells_runs_apart: false,
    },
    Table {
        name: "secrets",
        columns: &[column("name", Kind::Text), column("value", Kind::Bytes)],
        key: &["name"],
        draws_from: None,
        tells_runs_apart: true,
    },
    Table {
        name: "presence",
        columns: &[
            column("rid", Kind::Number),
            Column { name: "version", kind: Kind::Number, instead: Some("1 AS version") },
            column("beat_at", Kind::Moment),
            column("held_since", Kind::Moment),
            column("released", Kind::Truth),
            column("tokens_void_to", Kind::Number),
            column("absent_from", Kind::Moment),
            column("absent_until", Kind::Moment),
            column("restored", Kind::Truth),
            column("done_to", Kind::Number),
            column("up_to", Kind::Number),
        ],
        key: &["rid"],
        draws_from: None,
        tells_runs_apart: true,
    },
];

/// The reader of a line. The two forms differ in how a fraction is written, because PostgreSQL's own form
/// would be hard to imitate.
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
    /// The query that reads all rows behind the first `skip` from SQLite.
    pub(super) fn read(&self, skip: u64) -> String {
        let columns: Vec<&str> = self.columns.iter().map(|column| column.instead.unwrap_or(column.name)).collect();
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

    /// Text must arrive as its author wrote it, whatever COPY means by its characters.
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

    /// A refusal may end up in logs and tickets.
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
