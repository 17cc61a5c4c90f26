//! The tables of the inbox: where open questions wait, which questions a person has answered, and of which questions admins are told; and
//! the list of errands.

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Text};
    use crate::sql::Moment;

    inbox (place, due_at, suspension) {
        place -> Text,
        due_at -> Moment,
        suspension -> BigInt,
        keeps_owner -> Bool,
        is_plain -> Bool,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};

    answered (person, suspension) {
        person -> Text,
        suspension -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable};
    use crate::sql::{Id, Moment};

    alerts (suspension, person) {
        suspension -> BigInt,
        person -> Id,
        due_at -> Nullable<Moment>,
        tries -> Integer,
        lease -> Nullable<Binary>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Text};
    use crate::sql::Moment;

    errands (intent) {
        intent -> BigInt,
        asker -> Text,
        context_id -> Text,
        fate -> Integer,
        changed_at -> Moment,
    }
}
