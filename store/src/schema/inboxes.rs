//! The tables of the inbox: where open questions wait, and which questions a person has answered.

diesel::table! {
    use diesel::sql_types::{BigInt, Text};
    use crate::sql::Moment;

    inbox (place, due_at, suspension) {
        place -> Text,
        due_at -> Moment,
        suspension -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};

    answered (person, suspension) {
        person -> Text,
        suspension -> BigInt,
    }
}
