//! Converts JSON into types, without serde's second way to write a struct.
//!
//! serde reads a struct from an array as well, by position: `["susp-id", "approve"]` would be an answer. This module refuses
//! an array in place of a struct at every depth, because a reader of the documentation cannot have meant it.

use serde::Deserializer;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Error, IntoDeserializer, Unexpected, Visitor};
use serde_json::Value;

/// A value in which structs are objects and enums are words.
pub(super) struct Fields(pub(super) Value);

impl IntoDeserializer<'_, serde_json::Error> for Fields {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Fields {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Fields));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(members) => {
                let mut members = MapDeserializer::new(members.into_iter().map(|(name, value)| (name, Fields(value))));
                let value = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(value)
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.0.is_array() { Err(Error::invalid_type(Unexpected::Seq, &visitor)) } else { self.deserialize_any(visitor) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(word.into_deserializer()),
            Value::Object(_) => Err(Error::invalid_type(Unexpected::Map, &visitor)),
            // serde refuses values of these types, with an error that says that they are no enum.
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => other.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use domain::wire::{RespondRequest, SuspendRequest};
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
        serde_path_to_error::deserialize(Fields(value)).map_err(|error| error.path().to_string())
    }

    #[test]
    fn a_struct_is_an_object_at_every_depth() {
        assert!(serde_json::from_value::<RespondRequest>(json!(["id", "approve"])).is_ok(), "what serde alone would accept");
        assert_eq!(read::<RespondRequest>(json!(["id", "approve"])), Err(".".into()));
        let with = |field: &str, value: Value| read::<SuspendRequest>(json!({"question": "Go?", field: value}));
        assert_eq!(with("choices", json!([["a", "A"]])), Err("choices[0]".into()));
        assert_eq!(with("retry_policy", json!([2, 60])), Err("retry_policy".into()));
        assert_eq!(with("retry_policy", json!({"escalation_ladder": [[1]]})), Err("retry_policy.escalation_ladder[0]".into()));
        assert_eq!(with("response_type", json!({"confirm": null})), Err("response_type".into()));
    }

    #[test]
    fn what_serde_reads_from_objects_is_read_the_same() {
        let body = json!({
            "question": "Go?", "response_type": "text", "choices": [{"value": "a", "label": "A", "metadata": {"k": [1, null]}}],
            "context": {"deep": {"er": [1.5, "x", true]}}, "timeout_seconds": 60, "confidence": 1, "fallback_value": [1, {"a": 2}],
            "retry_policy": {"max_attempts": 2, "escalation_ladder": [{"attempt": 1, "notify_to": "a"}, {"attempt": 2, "notify_to": ["b"]}]},
            "decision_record": null, "notify_to": ["a@example.com"],
        });
        assert_eq!(read::<SuspendRequest>(body.clone()), Ok(serde_json::from_value(body).unwrap()));
    }
}
