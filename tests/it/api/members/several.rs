//! The members of several questions in one form.

use serde_json::{Value, json};

use super::Member;

pub(super) fn members() -> Vec<Member> {
    let form = json!({"question": "Which?", "response_type": "form", "timeout_seconds": 600});
    let one = json!({"name": "a", "question": "q", "choices": [{"value": "v", "label": "l"}]});
    let question = |name: &'static str, value: Value| {
        let mut other = one.clone();
        other[name] = value;
        Member::within("QuestionRequest", &form, "questions", name, [json!([one]), json!([other])])
    };
    let option = |name: &'static str, value: Value| {
        let mut other = one.clone();
        other["choices"][0][name] = value;
        Member::within("OptionRequest", &form, "questions", name, [json!([one]), json!([other])])
    };
    vec![
        question("name", json!("b")),
        question("question", json!("r")),
        question("description", json!("d")),
        question("response_type", json!("form")).refused(),
        question("choices", json!([{"value": "w", "label": "l"}])),
        question("multiple", json!(true)),
        question("required", json!(false)),
        option("value", json!("w")),
        option("label", json!("m")),
        option("description", json!("d")),
    ]
}
