//! JSON in requests: exactly the values that can be hashed are accepted (RFC 7493, RFC 8785).

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// How deep arrays and objects may nest.
pub const DEPTH_MAX: usize = 32;

/// How many object members one body may hold in all.
pub const KEYS_MAX: usize = 2_000;

/// The largest integer every JSON reader agrees on (2^53 − 1).
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// `#[serde(default, deserialize_with = "present")]`: distinguishes a member that is null from one that is absent.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
    T::deserialize(input).map(Some)
}

/// Parses a body, and refuses everything that two readers could understand differently: duplicate keys, integers beyond
/// ±(2^53−1), nesting beyond [`DEPTH_MAX`], more than [`KEYS_MAX`] members, and anything behind the value.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read(bytes, true)
}

/// Parses text of another program, for example an event that was served. Refuses only an object with two members of one name, of
/// which one reader sees the first and another reader the last.
///
/// # Errors
///
/// Text that is no JSON, or that can be understood in two ways.
pub fn unambiguous(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read(bytes, false)
}

fn read(bytes: &[u8], is_bounded: bool) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let mut keys = 0;
    let value = Strict { depth: 0, keys: &mut keys, is_bounded }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The canonical bytes of a value (RFC 8785).
///
/// # Errors
///
/// A number that JSON cannot hold; [`parse`] accepts none.
pub fn canonical(value: &impl serde::Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

/// The canonical bytes of an object, as [`canonical`] returns them, but faster.
///
/// # Errors
///
/// As [`canonical`].
pub fn canonical_object(members: &Map<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    write_members(&mut bytes, members)?;
    Ok(bytes)
}

/// How many bytes the canonical form of a value has, for limits.
pub fn size(value: &impl serde::Serialize) -> usize {
    canonical(value).map_or(0, |bytes| bytes.len())
}

/// Appends the canonical bytes of a value to `bytes`: the same bytes as [`canonical`] returns, but faster.
///
/// Speed matters, because every event is hashed in this form by the one thread that writes. `serde_json` already writes texts
/// and whole numbers in canonical form. Its objects keep their members in canonical order, except if a name has certain rare
/// characters; that object is sorted here. All other numbers go through the general canonicalizer.
///
/// # Errors
///
/// As [`canonical`].
pub fn write_canonical(bytes: &mut Vec<u8>, value: &Value) -> Result<(), serde_json::Error> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => serde_json::to_writer(bytes, value),
        Value::Number(number) if number.as_i64().is_some_and(|whole| (-INTEGER_MAX..=INTEGER_MAX).contains(&whole)) => {
            serde_json::to_writer(bytes, number)
        }
        Value::Number(number) => serde_json_canonicalizer::to_writer(number, bytes),
        Value::Array(items) => {
            bytes.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write_canonical(bytes, item)?;
            }
            bytes.push(b']');
            Ok(())
        }
        Value::Object(members) => write_members(bytes, members),
    }
}

fn write_members(bytes: &mut Vec<u8>, members: &Map<String, Value>) -> Result<(), serde_json::Error> {
    bytes.push(b'{');
    let mut members: Vec<_> = members.iter().collect();
    // The canonical order compares UTF-16 units. UTF-8 bytes sort in the same order below U+E000, whose first byte is 0xEE, so
    // members are sorted only if a name has a later character.
    if members.iter().any(|(name, _)| name.bytes().any(|byte| byte >= 0xEE)) {
        members.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
    }
    for (place, (name, value)) in members.into_iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut *bytes, name)?;
        bytes.push(b':');
        write_canonical(bytes, value)?;
    }
    bytes.push(b'}');
    Ok(())
}

/// How deep a value nests: 0 for a scalar, 1 for an array of scalars.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

struct Strict<'a> {
    depth: usize,
    keys: &'a mut usize,
    /// Whether the limits of a body apply.
    is_bounded: bool,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl Strict<'_> {
    fn deeper<E: Error>(&self) -> Result<usize, E> {
        let depth = self.depth + 1;
        if self.is_bounded && depth > DEPTH_MAX {
            Err(E::custom(format_args!("nested deeper than {DEPTH_MAX} levels")))
        } else {
            Ok(depth)
        }
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        if self.is_bounded && value < -INTEGER_MAX { Err(too_large()) } else { Ok(value.into()) }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if self.is_bounded && value > INTEGER_MAX.unsigned_abs() { Err(too_large()) } else { Ok(value.into()) }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // `serde_json` returns integers beyond 64 bits as floats. So a whole float beyond the limit is refused as the integer
        // would be, because two readers may understand it differently.
        if self.is_bounded && value.fract() == 0.0 && value.abs() > 9_007_199_254_740_991.0 {
            return Err(too_large());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let (depth, is_bounded) = (self.deeper()?, self.is_bounded);
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth, keys: &mut *self.keys, is_bounded })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let (depth, is_bounded) = (self.deeper()?, self.is_bounded);
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            *self.keys += 1;
            if is_bounded && *self.keys > KEYS_MAX {
                return Err(A::Error::custom(format_args!("more than {KEYS_MAX} object members")));
            }
            if object.contains_key(&key) {
                return Err(A::Error::custom("an object names the same key twice"));
            }
            let value = members.next_value_seed(Strict { depth, keys: &mut *self.keys, is_bounded })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

fn too_large<E: Error>() -> E {
    E::custom(format_args!("an integer beyond ±{INTEGER_MAX}; send it as a string"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_two_readers_could_understand_differently_is_refused() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"[{"b":{"c":1,"c":1}}]"#,
            "9007199254740992",
            "-9007199254740992",
            "1e300",
            "123456789012345678901234567890",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["9007199254740991", "-9007199254740991", "0.1", "1e3", r#"{"a":1,"b":{"a":1}}"#] {
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
        assert!(parse(br#"{"a":1} {"#).is_err());
        assert!(parse(b"").is_err());
    }

    /// Text of any size is read. A member that comes twice is refused, because two readers of a forged event could then see two
    /// different events.
    #[test]
    fn what_others_wrote_is_read_unless_a_name_comes_twice() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"c":1,"\u0063":1}}]"#, "{} {}", "{"] {
            assert!(unambiguous(text.as_bytes()).is_err(), "{text}");
        }
        let many = format!("{{{}}}", (0..=KEYS_MAX).map(|i| format!("\"k{i}\":0")).collect::<Vec<_>>().join(","));
        for text in [nested(DEPTH_MAX + 1), many, "[1e300,9007199254740992,-9007199254740992]".to_owned()] {
            assert_eq!(unambiguous(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(&text).unwrap(), "{text}");
        }
    }

    #[test]
    fn depth_and_keys_hold_at_the_bound_and_not_beyond() {
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(parse(nested(DEPTH_MAX + 1).as_bytes()).is_err());
        let object = |n: usize| format!("{{{}}}", (0..n).map(|i| format!("\"k{i}\":0")).collect::<Vec<_>>().join(","));
        assert!(parse(object(KEYS_MAX).as_bytes()).is_ok());
        assert!(parse(object(KEYS_MAX + 1).as_bytes()).is_err());
    }

    /// The fast ways write the same bytes as the general canonicalizer. Chains are hashed over their bytes,
    /// and other programs verify them with a canonicalizer of their own.
    #[test]
    fn the_short_way_writes_what_the_general_one_does() {
        let escapes: String =
            (0..0x20).map(char::from).chain(['"', '\\', '/', '\u{7f}', '\u{2028}', '\u{fffd}', '\u{1f600}']).collect();
        for value in [
            serde_json::json!(null),
            serde_json::json!([[], {}, [true, false], ""]),
            serde_json::json!([0, -0.0, 0.0, -1, 1.0, 0.1, 1e21, 1e-7, 5e-324, f64::MAX, 123_456_789.25]),
            serde_json::json!([INTEGER_MAX, -INTEGER_MAX, INTEGER_MAX + 1, -INTEGER_MAX - 1, i64::MIN, u64::MAX]),
            serde_json::json!({ "b": escapes, "a": {"z": 1, "aa": 2, "": 3}, "B": 4, "é": 5, "\n": 6 }),
            serde_json::json!({ "\u{d7ff}": 1, "\u{e000}": 2, "\u{fffd}": 3, "\u{10000}": 4, "\u{10ffff}": 5, "a": 6 }),
            serde_json::json!({ "a\u{e000}": 1, "a\u{1f600}": 2, "a": 3, "ab": 4 }),
        ] {
            let mut bytes = Vec::new();
            let short = write_canonical(&mut bytes, &value).ok().map(|()| String::from_utf8(bytes).unwrap());
            assert_eq!(short, canonical(&value).ok().map(|bytes| String::from_utf8(bytes).unwrap()), "{value}");
            if let Value::Object(members) = &value {
                assert_eq!(canonical_object(members).ok(), short.map(String::into_bytes), "{value}");
            }
        }
    }

    #[test]
    fn canonical_bytes_sort_by_utf16_and_write_numbers_as_ecmascript() {
        let value = parse("{\"\u{e000}\":1,\"\u{1f600}\":2,\"a\":1e21}".replace("1e21", "1.5e-7").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(canonical(&value).unwrap()).unwrap(), "{\"a\":1.5e-7,\"\u{1f600}\":2,\"\u{e000}\":1}");
    }
}
