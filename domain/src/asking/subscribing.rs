//! Turns a request for a subscription into the values that the store keeps, or names the fields that break rules.

use chrono::{DateTime, TimeDelta, Utc};

use crate::asking::accepting::EVENT_WORD_MAX;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::IntentId;
use crate::base::name::is_same;
use crate::base::time;
use crate::intent::vocabulary::is_a_type;
use crate::subscription::{EVENT_TYPES_MAX, SUBSCRIPTION_DAYS_MAX, SubscriptionBody, WEBHOOK_URL_MAX};
use crate::wire::SubscribeRequest;

/// The field with the endpoint of a subscription.
pub const WEBHOOK_URL: &str = "webhook_url";

/// A new subscription at `now`, of the credential with the name `creator`. `endpoint` returns a URL in the form in which the
/// server calls it, or says why the server cannot call it.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn subscription(
    body: SubscribeRequest,
    creator: &str,
    endpoint: impl FnOnce(&str) -> Result<String, FieldError>,
    now: DateTime<Utc>,
) -> Result<(IntentId, SubscriptionBody), Vec<FieldError>> {
    let mut errors = Vec::new();
    if body.portfolio_id.as_ref().is_some_and(|id| !id.is_null()) {
        let message = "must be left out: subscribe to the intents of the portfolio, or follow its stream";
        errors.push(FieldError::new("portfolio_id", UNSUPPORTED, message));
    }
    if body.intent_id.is_none() {
        errors.push(FieldError::new("intent_id", "required", "must name an intent"));
    }
    if body.subscriber_id.as_ref().is_some_and(|name| name.chars().count() > EVENT_WORD_MAX) {
        errors.push(FieldError::new("subscriber_id", "length", format!("must be at most {EVENT_WORD_MAX} characters")));
    }
    let event_types = body.event_types.unwrap_or_default();
    errors.extend(wrong_types(&event_types));
    let url = match body.webhook_url.filter(|url| !url.is_empty()) {
        Some(url) if url.chars().count() > WEBHOOK_URL_MAX => {
            errors.push(FieldError::new(WEBHOOK_URL, "length", format!("must be at most {WEBHOOK_URL_MAX} characters")));
            None
        }
        Some(url) => endpoint(&url).map_err(|error| errors.push(error)).ok(),
        None => {
            let message = "must be the URL of an endpoint; without one, follow the stream of the intent";
            errors.push(FieldError::new(WEBHOOK_URL, "required", message));
            None
        }
    };
    let expires_at = expiry(body.expires_at.as_deref(), now).map_err(|error| errors.push(error)).ok();
    let (Some(intent_id), Some(webhook_url), Some(expires_at), true) = (body.intent_id, url, expires_at, errors.is_empty())
    else {
        return Err(errors);
    };
    // An id that is no UUID is treated like the id of an intent that does not exist: the store answers both with 404.
    let intent_id = intent_id.parse().unwrap_or(IntentId(uuid::Uuid::nil()));
    let claimed_subscriber = body.subscriber_id.filter(|name| !name.is_empty() && !is_same(name, creator));
    Ok((intent_id, SubscriptionBody { claimed_subscriber, event_types, webhook_url, expires_at }))
}

/// The errors in a list of types. A type that no event has is an error, because its subscriber would wait in vain.
fn wrong_types(event_types: &[String]) -> Vec<FieldError> {
    if event_types.len() > EVENT_TYPES_MAX {
        return vec![FieldError::new("event_types", "length", format!("must have at most {EVENT_TYPES_MAX} entries"))];
    }
    let is_right = |event_type: &String| {
        // No event has a longer type or one with control characters, because such types cannot be appended.
        is_a_type(event_type)
            && event_type.chars().count() <= EVENT_WORD_MAX + "x.".len()
            && !event_type.contains(char::is_control)
    };
    let wrong = event_types.iter().enumerate().filter(|(_, event_type)| !is_right(event_type));
    let message = "must be a type of events, or begin with x.";
    wrong.map(|(index, _)| FieldError::new(format!("event_types[{index}]"), "value", message)).collect()
}

/// When a subscription ends.
fn expiry(text: Option<&str>, now: DateTime<Utc>) -> Result<DateTime<Utc>, FieldError> {
    let latest = now + TimeDelta::days(SUBSCRIPTION_DAYS_MAX);
    let Some(text) = text else { return Ok(latest) };
    let error = |rule: &str, message: String| FieldError::new("expires_at", rule, message);
    let Some(at) = time::parse(text) else { return Err(error("format", "must be a time (RFC 3339)".into())) };
    if at > now && at <= latest {
        return Ok(at);
    }
    Err(error(
        "range",
        format!("must be later than now, and at most {SUBSCRIPTION_DAYS_MAX} days from now; a time without a zone is UTC"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(more: &Value) -> Result<(IntentId, SubscriptionBody), Vec<FieldError>> {
        let mut body = json!({"intent_id": uuid::Uuid::nil().to_string(), "webhook_url": "https://hooks.example.com/"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let now = time::parse("2026-11-24T08:00:00Z").unwrap();
        let endpoint =
            |url: &str| if url.contains("bad") { Err(FieldError::new(WEBHOOK_URL, "host", "no")) } else { Ok(url.to_owned()) };
        subscription(serde_json::from_value(body).unwrap(), "bot", endpoint, now)
    }

    #[test]
    fn a_subscription_is_read_at_its_bounds_and_not_beyond() {
        let types = |count: usize| json!({"event_types": vec!["comment"; count]});
        for right in [
            json!({}),
            types(50),
            json!({"event_types": ["x.own", "intent.suspended", "delivery.sent", "cost_recorded"]}),
            json!({"event_types": [format!("x.{}", "t".repeat(200))]}),
            json!({"portfolio_id": null, "expires_at": null}),
            json!({"expires_at": "2026-12-24T08:00:00Z"}),
            json!({"expires_at": "2026-11-24T08:00:00.000001"}),
            json!({"subscriber_id": "n".repeat(200)}),
            json!({"webhook_url": format!("https://e.example/{}", "p".repeat(1_982))}),
        ] {
            assert!(read(&right).is_ok(), "{right}");
        }
        for (wrong, field, rule) in [
            (json!({"intent_id": null}), "intent_id", "required"),
            (json!({"portfolio_id": "p"}), "portfolio_id", "unsupported"),
            (json!({"subscriber_id": "n".repeat(201)}), "subscriber_id", "length"),
            (types(51), "event_types", "length"),
            (json!({"event_types": ["comment", "coment"]}), "event_types[1]", "value"),
            (json!({"event_types": ["x."]}), "event_types[0]", "value"),
            (json!({"event_types": ["x.a\u{0}"]}), "event_types[0]", "value"),
            (json!({"event_types": [format!("x.{}", "t".repeat(201))]}), "event_types[0]", "value"),
            (json!({"webhook_url": null}), "webhook_url", "required"),
            (json!({"webhook_url": ""}), "webhook_url", "required"),
            (json!({"webhook_url": "https://bad.example/"}), "webhook_url", "host"),
            (json!({"webhook_url": format!("https://e.example/{}", "p".repeat(1_983))}), "webhook_url", "length"),
            (json!({"expires_at": "tomorrow"}), "expires_at", "format"),
            (json!({"expires_at": "2026-11-24T08:00:00Z"}), "expires_at", "range"),
            (json!({"expires_at": "2026-12-24T08:00:00.000001Z"}), "expires_at", "range"),
        ] {
            let errors = read(&wrong).unwrap_err();
            assert_eq!((errors.len(), errors[0].field.as_str(), errors[0].rule.as_str()), (1, field, rule), "{wrong}");
        }
    }

    #[test]
    fn the_subscriber_in_the_body_is_a_claim() {
        let claimed = |name: &str| read(&json!({"subscriber_id": name})).unwrap().1.claimed_subscriber;
        assert_eq!((claimed("bot"), claimed(""), claimed("boss")), (None, None, Some("boss".into())));
    }
}
