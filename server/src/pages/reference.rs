//! `/docs`: the interface for people, made from the description that machines read. It has no script, and nothing from elsewhere.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use serde_json::{Map, Value};

use super::Pages;

/// The style of the reference. It shares only the design tokens with the pages behind a link.
pub(super) const STYLESHEET: &str = include_str!("assets/reference.css");

/// A text that this many operations have in the same words is shown once for all.
const SAID_ONCE_FROM: usize = 3;

#[derive(Template)]
#[template(path = "reference.html")]
struct ReferencePage {
    host: String,
    base: String,
    introduction: Vec<Words>,
    /// The answers and parameters that many operations have in the same words, shown once.
    answers: Vec<Response>,
    parameters: Vec<Field>,
    groups: Vec<Group>,
    schemas: Vec<Schema>,
}

/// A text with code in it.
type Words = Vec<Piece>;

#[derive(Clone, PartialEq)]
struct Piece {
    text: String,
    code: bool,
    /// The anchor to which this piece links; empty if it is no link.
    link: String,
}

struct Group {
    name: String,
    description: Words,
    operations: Vec<Operation>,
}

struct Operation {
    anchor: String,
    method: String,
    path: String,
    summary: Words,
    description: Vec<Words>,
    keyed: bool,
    parameters: Vec<Field>,
    body: Words,
    responses: Vec<Response>,
    /// Statuses whose meaning is explained once for all.
    usual: Vec<String>,
    curl: String,
}

#[derive(Clone)]
struct Field {
    name: String,
    place: String,
    required: bool,
    kind: Words,
    description: Words,
}

#[derive(Clone)]
struct Response {
    status: String,
    description: Words,
    body: Words,
    headers: Vec<String>,
}

struct Schema {
    name: String,
    description: Words,
    kind: Words,
    fields: Vec<Field>,
}

/// Shows the reference. It needs no key, because it tells nothing about this server's data.
pub(super) async fn show(pages: Pages) -> HttpResponse {
    let base = pages.public_url.as_str().trim_end_matches('/').to_owned();
    let page = ReferencePage::of((pages.description)(), pages.host(), base);
    pages.page_under(&pages.reference_policy, StatusCode::OK, page.render())
}

impl ReferencePage {
    fn of(document: &Value, host: String, base: String) -> Self {
        let mut groups: Vec<Group> =
            document["tags"].as_array().into_iter().flatten().map(|tag| Group::of(document, tag, &base)).collect();
        let schemas = members(&document["components"]["schemas"]).map(|(name, schema)| Schema::of(name, schema)).collect();
        let (answers, parameters) = said_once(&mut groups);
        Self { host, introduction: paragraphs(&document["info"]["description"]), answers, parameters, groups, schemas, base }
    }
}

/// Removes from the operations the texts that many of them share, and returns these.
fn said_once(groups: &mut [Group]) -> (Vec<Response>, Vec<Field>) {
    let mut answers: Vec<(Response, usize)> = Vec::new();
    let mut parameters: Vec<(Field, usize)> = Vec::new();
    for operation in groups.iter().flat_map(|group| &group.operations) {
        for response in operation.responses.iter().filter(|response| response.is_refusal()) {
            match answers.iter_mut().find(|(known, _)| known.says_the_same(response)) {
                Some((_, times)) => *times += 1,
                None => answers.push((response.clone(), 1)),
            }
        }
        for parameter in operation.parameters.iter().filter(|parameter| !parameter.description.is_empty()) {
            match parameters.iter_mut().find(|(known, _)| known.says_the_same(parameter)) {
                Some((_, times)) => *times += 1,
                None => parameters.push((parameter.clone(), 1)),
            }
        }
    }
    answers.retain(|(_, times)| *times >= SAID_ONCE_FROM);
    answers.sort_by(|(one, _), (other, _)| one.status.cmp(&other.status));
    parameters.retain(|(_, times)| *times >= SAID_ONCE_FROM);
    let answers: Vec<Response> = answers.into_iter().map(|(response, _)| response).collect();
    let parameters: Vec<Field> = parameters.into_iter().map(|(parameter, _)| parameter).collect();
    for operation in groups.iter_mut().flat_map(|group| &mut group.operations) {
        let (usual, own) = std::mem::take(&mut operation.responses)
            .into_iter()
            .partition(|response| answers.iter().any(|known| known.says_the_same(response)));
        operation.responses = own;
        operation.usual = Vec::into_iter(usual).map(|response| response.status).collect();
        for parameter in &mut operation.parameters {
            if parameters.iter().any(|known| known.says_the_same(parameter)) {
                parameter.description.clear();
            }
        }
    }
    (answers, parameters)
}

impl Group {
    fn of(document: &Value, tag: &Value, base: &str) -> Self {
        let name = text(&tag["name"]);
        let operations = members(&document["paths"])
            .flat_map(|(path, item)| members(item).map(move |(method, operation)| (path, method, operation)))
            .filter(|(_, _, operation)| operation["tags"][0] == tag["name"])
            .map(|(path, method, operation)| Operation::of(path, method, operation, base))
            .collect();
        Self { name: name.to_owned(), description: words(text(&tag["description"])), operations }
    }
}

impl Operation {
    fn of(path: &str, method: &str, operation: &Value, base: &str) -> Self {
        let content = &operation["requestBody"]["content"]["application/json"];
        // An empty list `security` means that the operation needs no key. A list with entries, or no list, means that it does.
        let keyed = operation.get("security").and_then(Value::as_array).is_none_or(|ways| !ways.is_empty());
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        Self {
            anchor: text(&operation["operationId"]).to_owned(),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: words(text(&operation["summary"])),
            description: paragraphs(&operation["description"]),
            keyed,
            parameters: parameters.map(Field::of_parameter).collect(),
            body: content.get("schema").map(kind).unwrap_or_default(),
            responses: members(&operation["responses"]).map(|(status, response)| Response::of(status, response)).collect(),
            usual: Vec::new(),
            curl: curl(base, path, method, operation, keyed),
        }
    }
}

impl Field {
    fn of_parameter(parameter: &Value) -> Self {
        Self {
            name: text(&parameter["name"]).to_owned(),
            place: text(&parameter["in"]).to_owned(),
            required: parameter["required"] == true,
            kind: kind(&parameter["schema"]),
            description: words(text(&parameter["description"])),
        }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.name == other.name && self.description == other.description
    }
}

impl Response {
    fn of(status: &str, response: &Value) -> Self {
        // The body of a refusal has only two forms: OpenIntent's and ours. The page shows both once, and not for each operation.
        let content = members(&response["content"]).next().filter(|_| !status.starts_with(['4', '5']));
        let body = content.map(|(content_type, content)| {
            let mut body = content.get("schema").map(kind).unwrap_or_default();
            if content_type != "application/json" {
                body.push(plain(" as ".to_owned()));
                body.push(Piece { text: content_type.clone(), code: true, link: String::new() });
            }
            body
        });
        let description = text(&response["description"]);
        Self {
            status: status.to_owned(),
            description: words(if description.is_empty() { "Done." } else { description }),
            body: body.unwrap_or_default(),
            // Every answer has this header; the introduction tells so once.
            headers: members(&response["headers"]).map(|(name, _)| name.clone()).filter(|name| name != "X-Request-Id").collect(),
        }
    }
}

impl Response {
    fn is_refusal(&self) -> bool {
        self.status.starts_with(['4', '5'])
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.status == other.status && self.description == other.description
    }
}

impl Schema {
    fn of(name: &str, schema: &Value) -> Self {
        // A schema that adds members of its own to another schema is written as `allOf`.
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        let is_required =
            |schema: &Value, name: &str| schema["required"].as_array().is_some_and(|list| list.iter().any(|one| one == name));
        let fields: Vec<Field> = parts
            .flat_map(|part| members(&part["properties"]).map(move |(name, property)| (part, name, property)))
            .map(|(part, name, property)| Field {
                name: name.clone(),
                place: String::new(),
                required: is_required(part, name),
                kind: kind(property),
                description: words(text(&property["description"])),
            })
            .collect();
        let kind = if fields.is_empty() { kind(schema) } else { Words::new() };
        Self { name: name.to_owned(), description: words(text(&schema["description"])), kind, fields }
    }
}

/// A type in words, with links to the schemas that it names.
fn kind(schema: &Value) -> Words {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
        return vec![Piece { text: name.to_owned(), code: false, link: format!("schema-{name}") }];
    }
    for several in ["oneOf", "anyOf"] {
        if let Some(options) = schema[several].as_array() {
            let mut words = Words::new();
            for option in options {
                if !words.is_empty() {
                    words.push(plain(" or ".to_owned()));
                }
                words.extend(kind(option));
            }
            return words;
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec!["any JSON"],
    };
    let mut words = vec![plain(types.join(" or ") + &bounds(schema))];
    if let Some(items) = schema.get("items") {
        words.push(plain(" of ".to_owned()));
        words.extend(kind(items));
    }
    words
}

/// The constraints of a schema besides its type.
fn bounds(schema: &Value) -> String {
    let range = |low: &str, high: &str, unit: &str| match (schema.get(low), schema.get(high)) {
        (Some(low), Some(high)) => format!(", {low} to {high}{unit}"),
        (Some(low), None) => format!(", at least {low}{unit}"),
        (None, Some(high)) => format!(", at most {high}{unit}"),
        (None, None) => String::new(),
    };
    let mut said = vec![
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " entries"),
        range("minimum", "maximum", ""),
    ];
    if let Some(format) = schema["format"].as_str().filter(|format| ["uuid", "date-time"].contains(format)) {
        said.push(format!(", {format}"));
    }
    let choices: Vec<&str> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).filter(|word| !word.is_empty()).collect();
    if !choices.is_empty() {
        said.push(format!(": {}", choices.join(", ")));
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        said.push(format!(", {default} by default"));
    }
    said.concat()
}

/// The call as a line for a shell; ids are variables.
fn curl(base: &str, path: &str, method: &str, operation: &Value, keyed: bool) -> String {
    let path = path.split('{').enumerate().map(|(index, part)| match part.split_once('}') {
        Some((name, rest)) if index > 0 => format!("${}{rest}", name.to_uppercase()),
        _ => part.to_owned(),
    });
    // The key comes through a pipe, because other users can read command lines.
    let key = if keyed { "printf 'X-API-Key: %s\\n' \"$PLACET_API_KEY\" |\n  " } else { "" };
    let mut line = format!("{key}curl -X {} \"{base}{}\"", method.to_uppercase(), path.collect::<String>());
    let mut option = |name: &str, value: &str| line.extend([" \\\n  ", name, " ", value]);
    if keyed {
        option("-H", "@-");
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    if parameters.into_iter().any(|parameter| parameter["name"] == "If-Match" && parameter["required"] == true) {
        option("-H", "\"If-Match: $VERSION\"");
    }
    if let Some(example) = operation["requestBody"]["content"]["application/json"].get("example") {
        option("-H", "'Content-Type: application/json'");
        let body = serde_json::to_string_pretty(example).unwrap_or_default();
        option("-d", &format!("'{}'", body.replace('\'', "'\\''")));
    }
    line
}

/// The paragraphs of a text of the description.
fn paragraphs(value: &Value) -> Vec<Words> {
    text(value).split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).map(words).collect()
}

/// A text of the description: code stands between backticks, and a link of rustdoc becomes its words.
fn words(text: &str) -> Words {
    let text = text.replace("[`", "`").replace("`]", "`");
    let pieces = text.split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(index, piece)| Piece { text: piece.to_owned(), code: index % 2 == 1, link: String::new() })
        .collect()
}

fn plain(text: String) -> Piece {
    Piece { text, code: false, link: String::new() }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // No text of the description becomes markup. All of these texts are our own today, but a later plugin may bring a schema or
    // an example.
    #[test]
    fn whatever_the_description_says_is_text() {
        let hostile = "</pre><script>alert(1)</script>\" onclick='x' `</code><b>`";
        let operation = json!({
            "tags": ["t"], "operationId": "t_id", "summary": hostile, "description": hostile,
            "parameters": [{ "name": hostile, "in": hostile, "description": hostile, "schema": { "type": hostile, "default": hostile } }],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/<b>" }, "example": hostile } } },
            "responses": { hostile: { "description": hostile, "content": { hostile: { "schema": { "enum": [hostile] } } } } },
        });
        let document = json!({
            "info": { "description": hostile }, "tags": [{ "name": "t", "description": hostile }],
            "paths": { hostile: { "post": operation } },
            "components": { "schemas": { "<b>": { "description": hostile, "properties": { hostile: { "description": hostile } } } } },
        });
        let html = ReferencePage::of(&document, "h".into(), "http://h".into()).render().unwrap();
        assert!(html.contains("&#60;script&#62;") && !html.contains("<script") && !html.contains("<b>\""), "{html}");
        assert_eq!(html.matches("<pre>").count(), html.matches("</pre>").count());
    }

    #[test]
    fn types_are_told_with_their_bounds() {
        let told = |schema: &Value| kind(schema).into_iter().map(|piece| piece.text).collect::<String>();
        assert_eq!(told(&json!({ "type": "string", "minLength": 1, "maxLength": 200 })), "string, 1 to 200 characters");
        assert_eq!(
            told(&json!({ "type": "integer", "minimum": 0, "maximum": 50, "default": 0 })),
            "integer, 0 to 50, 0 by default"
        );
        assert_eq!(told(&json!({ "type": "string", "enum": ["open", "all", ""] })), "string: open, all");
        let list = json!({ "type": ["array", "null"], "maxItems": 50, "items": { "$ref": "#/components/schemas/Patch" } });
        assert_eq!(told(&list), "array or null, at most 50 entries of Patch");
        assert_eq!(told(&json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Status" }] })), "null or Status");
        assert_eq!(told(&json!({})), "any JSON");
    }

    #[test]
    fn a_call_survives_the_shell() {
        let operation = json!({
            "parameters": [{ "name": "If-Match", "required": true }],
            "requestBody": { "content": { "application/json": { "example": { "text": "it's" } } } },
        });
        let line = curl("http://h", "/intents/{intent_id}/state", "post", &operation, true);
        assert!(line.contains(" |\n  curl -X POST \"http://h/intents/$INTENT_ID/state\" \\\n  -H @- "), "{line}");
        assert!(line.starts_with("printf 'X-API-Key: %s\\n' \"$PLACET_API_KEY\" |"), "{line}");
        assert!(curl("http://h", "/healthz", "get", &json!({}), false).starts_with("curl -X GET \"http://h/healthz\""));
        assert!(line.contains("If-Match: $VERSION") && line.contains("it'\\''s"), "{line}");
    }
}
