//! The tables of people who are listed, of their groups, their logins, and of what they opened.

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
    use crate::sql::{Document, Id, Moment};

    people (rid) {
        rid -> BigInt,
        id -> Id,
        address -> Text,
        role -> Integer,
        added_at -> Moment,
        added_by -> Text,
        confirmed_at -> Nullable<Moment>,
        removed_at -> Nullable<Moment>,
        managed -> Bool,
        absence -> Nullable<Document>,
        preferences -> Nullable<Document>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable};
    use crate::sql::{Id, Moment};

    logins (rid) {
        rid -> BigInt,
        id -> Id,
        person -> Nullable<Id>,
        asked_at -> Moment,
        expires_at -> Moment,
        used_at -> Nullable<Moment>,
        hash -> Nullable<Binary>,
        due_at -> Nullable<Moment>,
        tries -> Integer,
        lease -> Nullable<Binary>,
        question -> Nullable<Id>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable};
    use crate::sql::{Id, Moment};

    sessions (rid) {
        rid -> BigInt,
        id -> Id,
        person -> Id,
        hash -> Binary,
        began_at -> Moment,
        used_at -> Moment,
        ends_at -> Moment,
        challenge -> Nullable<Binary>,
        challenge_until -> Nullable<Moment>,
        method -> Integer,
        auth_time -> Nullable<Moment>,
        recent_until -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::{Id, Moment};

    passkeys (rid) {
        rid -> BigInt,
        credential_id -> Binary,
        person -> Id,
        public_key -> Binary,
        algorithm -> Integer,
        rp_id -> Text,
        counter -> BigInt,
        added_at -> Moment,
        used_at -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};
    use crate::sql::{Id, Moment};

    identities (rid) {
        rid -> BigInt,
        issuer -> Text,
        subject -> Text,
        person -> Id,
        bound_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable};
    use crate::sql::{Id, Moment};

    openid_logins (rid) {
        rid -> BigInt,
        hash -> Binary,
        browser -> Binary,
        expires_at -> Moment,
        question -> Nullable<Id>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary};
    use crate::sql::{Id, Moment};

    unsent_answers (suspension, person, browser) {
        suspension -> BigInt,
        person -> Id,
        browser -> Binary,
        form -> Binary,
        kept_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Text};
    use crate::sql::Moment;

    drafts (suspension, person) {
        suspension -> BigInt,
        person -> Text,
        texts -> Binary,
        saved_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};
    use crate::sql::Moment;

    views (suspension, recipient) {
        suspension -> BigInt,
        recipient -> Text,
        first_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Integer, Text};

    people_groups (rid) {
        rid -> BigInt,
        name -> Text,
        version -> Integer,
        managed -> Bool,
    }
}

diesel::table! {
    use diesel::sql_types::BigInt;
    use crate::sql::Id;

    people_group_members (people_group, person) {
        people_group -> BigInt,
        person -> Id,
    }
}

diesel::allow_tables_to_appear_in_same_query!(people, sessions);
diesel::allow_tables_to_appear_in_same_query!(people, people_group_members);
diesel::allow_tables_to_appear_in_same_query!(people_groups, people_group_members);
