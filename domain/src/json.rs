//! JSON at the edge: what is let in is exactly what can be hashed (RFC 7493, RFC 8785).

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep arrays and objects may nest.
pub const DEPTH_MAX: usize = 32;

/// How many object members one body may hold in all.
pub const KEYS_MAX: usize = 2_000;

/// The largest integer every JSON reader agrees on (2^53 − 1).
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// Parses a body, refusing what two readers could understand differently: duplicate keys, integers beyond ±(2^53−1), nesting beyond
/// [`DEPTH_MAX`], more than [`KEYS_MAX`] members, and anything behind the value.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let mut keys = 0;
    let value = Strict { depth: 0, keys: &mut keys }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The canonical bytes of a value (RFC 8785).
///
/// # Errors
///
/// A number JSON cannot hold; [`parse`] lets none in.
pub fn canonical(value: &impl serde::Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

/// How deep a value nests: 0 for a plain one, 1 for an array of plain ones.
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
        if depth > DEPTH_MAX { Err(E::custom(format_args!("nested deeper than {DEPTH_MAX} levels"))) } else { Ok(depth) }
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
        if value < -INTEGER_MAX { Err(too_large()) } else { Ok(value.into()) }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        if value > INTEGER_MAX.unsigned_abs() { Err(too_large()) } else { Ok(value.into()) }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // serde_json hands integers beyond 64 bits over as floats; a whole float beyond the bound is as ambiguous as the integer.
        if value.fract() == 0.0 && value.abs() > 9_007_199_254_740_991.0 {
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
        let depth = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth, keys: &mut *self.keys })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            *self.keys += 1;
            if *self.keys > KEYS_MAX {
                return Err(A::Error::custom(format_args!("more than {KEYS_MAX} object members")));
            }
            if object.contains_key(&key) {
                return Err(A::Error::custom("an object names the same key twice"));
            }
            let value = members.next_value_seed(Strict { depth, keys: &mut *self.keys })?;
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

    #[test]
    fn depth_and_keys_hold_at_the_bound_and_not_beyond() {
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(parse(nested(DEPTH_MAX + 1).as_bytes()).is_err());
        let object = |n: usize| format!("{{{}}}", (0..n).map(|i| format!("\"k{i}\":0")).collect::<Vec<_>>().join(","));
        assert!(parse(object(KEYS_MAX).as_bytes()).is_ok());
        assert!(parse(object(KEYS_MAX + 1).as_bytes()).is_err());
    }

    #[test]
    fn canonical_bytes_sort_by_utf16_and_write_numbers_as_ecmascript() {
        let value = parse("{\"\u{e000}\":1,\"\u{1f600}\":2,\"a\":1e21}".replace("1e21", "1.5e-7").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(canonical(&value).unwrap()).unwrap(), "{\"a\":1.5e-7,\"\u{1f600}\":2,\"\u{e000}\":1}");
    }
}
