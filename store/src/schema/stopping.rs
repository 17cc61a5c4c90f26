//! The tables of stops, and of the events for which they wait.

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Text};

    wakes (name, suspension, provider) {
        name -> Text,
        suspension -> BigInt,
        provider -> Integer,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};

    use crate::sql::Document;

    stops (suspension) {
        suspension -> BigInt,
        stage -> Integer,
        holder -> Nullable<Text>,
        holder_owner -> Nullable<Text>,
        woken_by -> Nullable<Binary>,
        departed -> Nullable<Document>,
    }
}
