//! The messages about fields of the wrong type, in words of this API: a caller knows JSON, and not the types of this program.

/// A message of serde about a field, in words of this API. Every other message stays as it is.
pub(super) fn in_words_of_json(message: &str) -> String {
    // The value of the caller stands before the last comma, whatever is in it.
    let expected = |start: &str| message.strip_prefix(start)?.rsplit_once(", expected ").map(|(_, expected)| expected);
    if let Some(kind) = expected("invalid type: ").or_else(|| expected("invalid value: ")).and_then(kind) {
        return format!("must be {kind}");
    }
    if let Some(words) = expected("unknown variant ") {
        return format!("must be {}", words.replace('`', "\""));
    }
    if let Some(fields) = expected("unknown field ") {
        let names: Vec<String> = fields.split('`').skip(1).step_by(2).map(|name| format!("\"{name}\"")).collect();
        let known = match names.as_slice() {
            [only] => format!("its only field here is {only}"),
            [one, other] => format!("its fields here are {one} and {other}"),
            _ => format!("its fields here are {}", names.join(", ")),
        };
        return format!("is no field of this request; {known}");
    }
    if message.starts_with("unknown field ") {
        return "is no field of this request, which has none here".to_owned();
    }
    if message.starts_with("missing field ") {
        return "is missing".to_owned();
    }
    if message.starts_with("data did not match any variant of untagged enum") {
        return "has none of the forms that this field can have".to_owned();
    }
    message.to_owned()
}

/// The kind that a value must have, from serde's name for it; `None` for a name that is not known here.
fn kind(expected: &str) -> Option<String> {
    let kind = match expected {
        "u8" => return Some(whole(u8::MAX.into())),
        "u16" => return Some(whole(u16::MAX.into())),
        "u32" => return Some(whole(u32::MAX.into())),
        "u64" | "u128" | "usize" => "a whole number that is 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a borrowed string" | "a character" | "variant identifier" | "field identifier" | "string or map" => "a string",
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        _ if expected.starts_with("enum ") => "a string",
        _ if expected.starts_with("tuple ") => "an array",
        _ if expected.starts_with("struct ") || expected.contains(" tagged enum ") => "an object",
        // Our own types say in words of a caller what they expect.
        _ if expected.starts_with("a ") || expected.starts_with("an ") => expected,
        _ => return None,
    };
    Some(kind.to_owned())
}

fn whole(most: u64) -> String {
    format!("a whole number from 0 to {most}")
}

#[cfg(test)]
mod tests {
    use domain::wire::{ChangePersonRequest, SuspendRequest};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::super::fields::Fields;
    use super::*;

    fn message<T: DeserializeOwned>(body: Value) -> String {
        let error = T::deserialize(Fields(body)).err().map(|error| error.to_string());
        in_words_of_json(&error.unwrap_or_default())
    }

    #[test]
    fn no_message_names_a_type_of_this_program() {
        let of = |field: &str, value: Value| message::<SuspendRequest>(json!({"question": "Go?", field: value}));
        for (field, value, words) in [
            ("quorum", json!({"required_approvals": 1.5}), "must be a whole number from 0 to 4294967295"),
            ("quorum", json!({"required_approvals": -1}), "must be a whole number from 0 to 4294967295"),
            ("quorum", json!({}), "is missing"),
            ("quorum", json!([2]), "must be an object"),
            ("choices", json!("yes, expected u32"), "must be an array"),
            ("context", json!(1), "must be an object"),
            ("comment_on_refusal", json!("x"), "must be true or false"),
        ] {
            assert_eq!(of(field, value.clone()), words, "{field}: {value}");
        }
        let risk = of("risk", json!("huge, expected `king`"));
        assert!(risk.starts_with("must be one of \"low\", ") && !risk.contains("king"), "{risk}");
        let unknown = message::<SuspendRequest>(json!({"question": "Go?", "quorum": {"required_approvals": 2, "of": 3}}));
        assert!(unknown.starts_with("is no field of this request; its fields here are \"required_approvals\", "), "{unknown}");
    }

    /// serde has other words for one field and for two than for more.
    #[test]
    fn an_unknown_field_is_told_the_fields_that_there_are() {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct One {
            #[serde(rename = "a")]
            _a: bool,
        }
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Two {
            #[serde(rename = "a")]
            _a: bool,
            #[serde(rename = "b")]
            _b: bool,
        }
        let unknown = json!({"c, expected `d`": 1});
        assert_eq!(message::<One>(unknown.clone()), "is no field of this request; its only field here is \"a\"");
        assert_eq!(message::<Two>(unknown), "is no field of this request; its fields here are \"a\" and \"b\"");
    }

    /// A person has a role of people. The others are for keys of programs.
    #[test]
    fn a_wrong_role_of_a_person_is_told_the_roles_of_people() {
        let words = message::<ChangePersonRequest>(json!({"role": "king"}));
        assert_eq!(words, "must be one of \"auditor\", \"operator\", \"admin\"");
    }

    #[test]
    fn other_messages_stay() {
        for message in ["must be a UUID", "number out of range", "invalid type: map, expected something else"] {
            assert_eq!(in_words_of_json(message), message);
        }
    }
}
