//! The table of messages that a suspension is over.

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::Moment;

    wake_posts (endpoint, suspension) {
        endpoint -> Text,
        suspension -> BigInt,
        tries -> Integer,
        due_at -> Moment,
        lease -> Nullable<Binary>,
    }
}
