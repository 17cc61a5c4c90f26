//! What an operator learns of a database without changing it.

use chrono::{DateTime, Utc};
use domain::base::ids::KeyId;
use domain::people::principal::Role;
use domain::wire::KeyView;

/// How the tables of a database relate to this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// There are none yet; the first start makes them.
    Empty,
    /// They are somebody else's.
    Foreign,
    /// The next start adds so many migrations.
    Older(usize),
    /// They are this program's.
    Current,
    /// `placet migrate` fills them, and has not finished.
    Half,
    /// A newer program wrote this migration.
    Newer(String),
}

/// A key with the role `channel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub id: KeyId,
    pub name: String,
    /// The channels it is tied to; absent for an unbound one.
    pub tied_to: Option<Vec<String>>,
}

impl Gateway {
    /// Those among all keys.
    pub(crate) fn among(keys: Vec<KeyView>) -> Vec<Self> {
        let counts = |key: &KeyView| key.role == Role::Channel && key.revoked_at.is_none();
        keys.into_iter().filter(counts).map(|key| Self { id: key.id, name: key.name, tied_to: key.tied_to }).collect()
    }
}

/// What a database holds, as far as its operator is concerned.
#[derive(Debug)]
pub struct Inspection {
    /// Whose tables these are; the rest is known only of `Older` and `Current` ones.
    pub schema: Schema,
    /// Whether commits go to a write-ahead log; those of PostgreSQL always do.
    pub write_ahead: bool,
    /// What the database's own check says is broken; PostgreSQL has none to ask.
    pub damage: Option<String>,
    /// Where everything went, if `placet migrate` moved it; no server starts here any more.
    pub moved_to: Option<String>,
    /// When the newest event was written.
    pub last_event: Option<DateTime<Utc>>,
    /// Keys that count.
    pub keys: i64,
    /// Gateways whose keys count, once the tables are of this version.
    pub gateways: Vec<Gateway>,
    /// Since when deadlines and messages wait after a restore.
    pub held_since: Option<DateTime<Utc>>,
    /// A secret of the server's own, if it has made it.
    pub secret: Option<[u8; 32]>,
    /// Whether a server in production has served it.
    pub was_in_production: bool,
}

impl Inspection {
    /// A database of which nothing more is known yet.
    pub(crate) fn of(schema: Schema) -> Self {
        Self {
            schema,
            write_ahead: false,
            damage: None,
            moved_to: None,
            last_event: None,
            keys: 0,
            gateways: Vec::new(),
            held_since: None,
            secret: None,
            was_in_production: false,
        }
    }
}
