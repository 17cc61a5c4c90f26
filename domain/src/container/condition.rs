//! Conditions of a plan: whether a task is worth doing, judged by the result of another one (RFC-0012).

use std::cmp::Ordering;
use std::mem;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::base::ids::TaskId;

/// The most conditions of one plan.
pub const CONDITIONS_MAX: usize = 50;
/// The longest `when`, in characters.
pub const WHEN_MAX: usize = 1_000;
/// The most names in the path to a value of a result.
pub const PATH_MAX: usize = 10;
/// The reason for which a task is skipped whose condition does not hold.
pub const CONDITION: &str = "condition";
/// The form of a `when`, for messages.
pub const FORM: &str = "must be tasks['ID'].output.NAME OP VALUE, where OP is ==, !=, <, <=, > or >=, and VALUE is a text in quotes, a number, true, false or null";

/// The operators, the longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::Different),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
];

/// A condition as its agent has described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionBody {
    /// Its id, unique among the conditions of its plan.
    pub id: String,
    /// The task that is skipped if the condition does not hold.
    pub task_id: TaskId,
    /// The condition, in the form [`FORM`].
    pub when: String,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// As its agent has described it.
    #[serde(flatten)]
    pub body: ConditionBody,
    /// Whether it holds; `None` until the task whose result it reads is completed or skipped.
    pub holds: Option<bool>,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A `when` that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The task whose result is read.
    pub reads: TaskId,
    path: Vec<String>,
    operator: Operator,
    value: Value,
}

impl ConditionBody {
    /// The comparison. The server accepts no condition that has none.
    pub fn comparison(&self) -> Option<Comparison> {
        Comparison::read(&self.when)
    }
}

impl Comparison {
    /// Reads a `when`; `None` if it has another form than [`FORM`].
    pub fn read(when: &str) -> Option<Self> {
        let rest = when.trim().strip_prefix("tasks[")?;
        let (id, rest) = quoted(rest)?;
        let rest = rest.strip_prefix("].output")?;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))?;
        let (path, rest) = rest.split_at(end);
        let path: Vec<String> = path.strip_prefix('.')?.split('.').map(str::to_owned).collect();
        if path.len() > PATH_MAX || path.iter().any(String::is_empty) {
            return None;
        }
        let rest = rest.trim_start();
        let (operator, rest) = OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(sign)?)))?;
        Some(Self { reads: id.parse().ok()?, path, operator, value: literal(rest.trim())? })
    }

    /// Whether it holds for a result. A value that is missing, or of another kind than the one that it is compared with, satisfies no
    /// operator, not even `!=`: a condition never holds by accident.
    pub fn holds(&self, output: Option<&Map<String, Value>>) -> bool {
        let mut names = self.path.iter();
        let first = names.next().and_then(|name| output?.get(name));
        let Some(found) = names.fold(first, |found, name| found?.get(name)) else { return false };
        if mem::discriminant(found) != mem::discriminant(&self.value) {
            return false;
        }
        let ordering = ordering(found, &self.value);
        match self.operator {
            Operator::Equal => ordering == Some(Ordering::Equal),
            Operator::Different => ordering != Some(Ordering::Equal),
            Operator::Less => ordering == Some(Ordering::Less),
            Operator::AtMost => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            Operator::More => ordering == Some(Ordering::Greater),
            Operator::AtLeast => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// The text in the quotes at the beginning, and the rest behind them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    text[1..].split_once(quote)
}

/// A text in quotes, a number, true, false or null.
fn literal(text: &str) -> Option<Value> {
    if text.starts_with('\'') {
        let (inner, rest) = quoted(text)?;
        return rest.is_empty().then(|| Value::from(inner));
    }
    let value: Value = serde_json::from_str(text).ok()?;
    (!value.is_array() && !value.is_object()).then_some(value)
}

/// How the first value compares with the second, which has the same kind; `None` if they differ and their kind has no order.
fn ordering(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => numbers(one, other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => (one == other).then_some(Ordering::Equal),
    }
}

/// Compares numbers without rounding, if both are integers.
fn numbers(one: &Number, other: &Number) -> Option<Ordering> {
    if let (Some(one), Some(other)) = (one.as_i128(), other.as_i128()) {
        return Some(one.cmp(&other));
    }
    one.as_f64()?.partial_cmp(&other.as_f64()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TASK: &str = "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10";

    fn holds(rest: &str, output: &Value) -> bool {
        let when = format!("tasks['{TASK}'].output.{rest}");
        Comparison::read(&when).unwrap_or_else(|| panic!("{when}")).holds(output.as_object())
    }

    #[test]
    fn a_result_is_compared_with_a_value() {
        let output =
            json!({"amount": 500, "rate": 0.5, "kind": "refund", "ok": true, "none": null, "deep": {"er": 7}, "list": [1]});
        for (rest, expected) in [
            ("amount == 500", true),
            ("amount==500", true),
            ("amount == 500.0", true),
            ("amount != 500", false),
            ("amount > 499", true),
            ("amount >= 500", true),
            ("amount <= 499", false),
            ("amount < 1e9", true),
            ("rate < 1", true),
            ("kind == 'refund'", true),
            ("kind == \"refund\"", true),
            ("kind != 'sale'", true),
            ("kind < 'sale'", true),
            ("ok == true", true),
            ("ok != false", true),
            ("ok > false", false),
            ("none == null", true),
            ("deep.er >= 7", true),
            ("deep.missing == 7", false),
            ("missing == null", false),
            ("missing != 1", false),
            ("amount != 'x'", false),
            ("list == 1", false),
            ("kind.er == 1", false),
        ] {
            assert_eq!(holds(rest, &output), expected, "{rest}");
        }
        assert!(!holds("ok == true", &Value::Null));
        let large = json!({"n": 9_007_199_254_740_993_u64});
        assert!(!holds("n == 9007199254740992", &large) && holds("n > 9007199254740992", &large));
    }

    #[test]
    fn what_has_another_form_is_no_condition() {
        for when in [
            "",
            "true",
            "amount > 5",
            "tasks['x'].output.a == 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output == 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output. == 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a..b == 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a == ",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a = 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a == x",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a == [1]",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a == 1 or true",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].output.a == 'b' or 'c'",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10\"].output.a == 1",
            "tasks[019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10].output.a == 1",
            "tasks['019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10'].input.a == 1",
            "tasks['ü",
            "tasks[ü",
        ] {
            assert_eq!(Comparison::read(when), None, "{when}");
        }
        let deep = |names: usize| format!("tasks['{TASK}'].output.{} == 1", vec!["a"; names].join("."));
        assert!(Comparison::read(&deep(PATH_MAX)).is_some() && Comparison::read(&deep(PATH_MAX + 1)).is_none());
    }
}
