//! The names of members: in camelCase in messages, and as the API has them inside. Pure functions.
//!
//! Each name of a message has a name inside, and comes back from there as it was sent. Inside, a capital letter is an underscore with the small
//! letter, and an underscore, which no name of the protocol has, is two. So a name that is no member in a message is no member inside, and a
//! refusal names it as the client did.

use domain::base::field::FieldError;
use serde_json::{Map, Value};

/// How many misspelt names one refusal tells: a reply should not be many times as large as its request.
const MISSPELT_TOLD_MAX: usize = 20;

/// The place of a field, and what stands below it, which has the agent's own names.
fn split(place: &str) -> (&str, &str) {
    place.find('/').map_or((place, ""), |at| place.split_at(at))
}

/// The place inside that a place in a message is.
pub(crate) fn snake(place: &str) -> String {
    let (place, below) = split(place);
    let mut snake = String::with_capacity(place.len() + 4);
    for letter in place.chars() {
        if letter.is_ascii_uppercase() || letter == '_' {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake + below
}

/// Words about members inside, with the names that these have in a message.
pub(crate) fn camel(words: &str) -> String {
    let mut camel = String::with_capacity(words.len());
    let mut is_marked = false;
    for letter in words.chars() {
        match letter {
            // The second of two is an underscore of the client's.
            letter if is_marked => {
                camel.push(letter.to_ascii_uppercase());
                is_marked = false;
            }
            '_' => is_marked = true,
            letter => camel.push(letter),
        }
    }
    camel
}

/// An error under the place that its field has in a message.
pub(crate) fn in_camel(error: FieldError) -> FieldError {
    let (place, below) = split(&error.field);
    FieldError { field: camel(place) + below, ..error }
}

/// An error about a member of a message, under the place that the member has inside.
pub(crate) fn in_snake(error: FieldError) -> FieldError {
    FieldError { field: snake(&error.field), ..error }
}

/// The members of an object under their names inside, and in the same way those of the members that are named.
pub(crate) fn inside(members: Map<String, Value>, deeper: &[&str]) -> Map<String, Value> {
    let named = |(name, value): (String, Value)| {
        let value = if deeper.contains(&name.as_str()) { value_inside(value, deeper) } else { value };
        (snake(&name), value)
    };
    members.into_iter().map(named).collect()
}

fn value_inside(value: Value, deeper: &[&str]) -> Value {
    match value {
        Value::Object(members) => Value::Object(inside(members, deeper)),
        Value::Array(items) => items.into_iter().map(|item| value_inside(item, deeper)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The errors about the members whose names have an underscore, at any of these depths.
pub(crate) fn misspelt(members: &Map<String, Value>, deeper: &[&str]) -> Vec<FieldError> {
    let mut places = Vec::new();
    look_through(members, "", deeper, &mut places);
    let wrong = |place: &String| FieldError::new(snake(place), "unknown", "is no member: names are in camelCase");
    places.iter().map(wrong).collect()
}

fn look_through(members: &Map<String, Value>, above: &str, deeper: &[&str], places: &mut Vec<String>) {
    for (name, value) in members {
        let place = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if deeper.contains(&name.as_str()) {
            look_into(value, &place, deeper, places);
        } else if name.contains('_') && places.len() < MISSPELT_TOLD_MAX {
            places.push(place);
        }
    }
}

fn look_into(value: &Value, place: &str, deeper: &[&str], places: &mut Vec<String>) {
    match value {
        Value::Object(members) => look_through(members, place, deeper, places),
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                look_into(item, &format!("{place}[{number}]"), deeper, places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A client looks for the name that it has sent.
    #[test]
    fn each_name_comes_back_as_it_was_sent() {
        for (sent, inside) in [
            ("durationMinutes", "duration_minutes"),
            ("on_timeout", "on__timeout"),
            ("onTimeout", "on_timeout"),
            ("aURL", "a_u_r_l"),
            ("a_B", "a___b"),
            ("_a", "__a"),
            ("A_", "_a__"),
            ("choices[0].isX", "choices[0].is_x"),
            ("context/order_Id", "context/order_Id"),
            ("ä_Ö", "ä__Ö"),
            ("", ""),
        ] {
            assert_eq!(snake(sent), inside);
            let error = in_camel(FieldError::new(inside, "r", "m"));
            assert_eq!(error.field, sent);
            assert_eq!(in_snake(error).field, inside);
        }
    }

    #[test]
    fn every_misspelt_name_is_told_with_its_parents() {
        let given = json!({"question": "q", "time_out": 1, "choices": [{"value": "a", "is_x": 1}, {"is_y": 1, "metadata": {"own_name": 1}}],
            "retryPolicy": {"max_attempts": 1, "escalationLadder": [{"notify_to": []}]}, "context": {"own_name": 1}});
        let found = misspelt(given.as_object().unwrap(), &["choices", "retryPolicy", "escalationLadder"]);
        let mut places: Vec<String> = found.into_iter().map(|error| in_camel(error).field).collect();
        places.sort();
        let wanted = [
            "choices[0].is_x",
            "choices[1].is_y",
            "retryPolicy.escalationLadder[0].notify_to",
            "retryPolicy.max_attempts",
            "time_out",
        ];
        assert_eq!(places, wanted);
    }

    #[test]
    fn of_many_misspelt_names_some_are_told() {
        let many: Map<String, Value> = (0..=MISSPELT_TOLD_MAX).map(|number| (format!("x_{number}"), json!(0))).collect();
        assert_eq!(misspelt(&many, &[]).len(), MISSPELT_TOLD_MAX);
    }
}
