//! The answer page over HTTP: GET shows it, one POST of a shown page decides, and nothing else does.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use domain::base::ids::IntentId;
use harness::app::{OPERATOR, TestApp};
use harness::crawler::ScannerSim;
use harness::on_each_store;
use harness::person::{Page, Person};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

/// One question on an intent of its own, and the link in its mail.
struct Asked {
    intent: IntentId,
    id: String,
    link: String,
}

async fn asked(app: &TestApp, change: Value) -> Asked {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    Asked { intent, id, link: app.next_link().await }
}

/// Checks that the question is open, that there is no decision, and that the link still works.
async fn assert_untouched(app: &TestApp, asked: &Asked) {
    let agent = app.agent();
    assert_eq!(agent.status(asked.intent).await, "suspended_awaiting_input");
    let happened = ["intent_created", "intent.suspended", "status_changed", "delivery.sent"];
    assert_eq!(agent.event_types(asked.intent).await, happened);
    assert!(app.person().open(&asked.link).await.has_form());
}

/// The response that is on record for the question; null if it has none.
async fn response(app: &TestApp, asked: &Asked) -> Value {
    app.agent().suspension(&asked.id).await["response"].clone()
}

on_each_store! {
    /// Mail scanners open every address they find, some as a browser would. If one of them can decide, every approval is worthless.
    async fn a_scanner_decides_nothing(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let id = app.agent().asked(intent).await;
        app.settle().await;
        let mail = app.smtp.next_mail().await;
        let (link, urls) = (mail.link(&app.base), mail.links_under(&app.base));
        assert!(urls.len() >= 3, "a link in the text, a button and a link in the HTML: {urls:?}");
        let mut scanner = ScannerSim::new();
        let visits = scanner.scan(&urls, 5).await;
        assert_eq!(visits.len(), urls.len() * 3 * 5, "a redirect would be one visit more");
        for visit in visits {
            let expected = if visit.method == Method::OPTIONS { StatusCode::METHOD_NOT_ALLOWED } else { StatusCode::OK };
            assert_eq!(visit.status, expected, "{} {}", visit.method, visit.url);
        }
        let asked = Asked { intent, id, link };
        assert_untouched(app, &asked).await;
        assert_eq!(app.person().answer(&asked.link, "deny").await.heading(), "Your answer was recorded");
        scanner.scan(&urls, 1).await; // They come again when the person clicks.
        assert_eq!(response(app, &asked).await, json!("deny"));
    }

    /// Only GET, HEAD and POST have a meaning; HEAD is GET without the page.
    async fn other_methods_do_nothing(app: &mut TestApp) {
        let asked = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        for method in [Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS] {
            let body = format!("nonce={nonce}&value=approve");
            let request = person.request(method, &asked.link).header("origin", &person.origin).body(body);
            assert_eq!(person.send(request).await.status, 405);
        }
        let request = person.request(Method::GET, &format!("{}?nonce={nonce}&value=approve", asked.link));
        assert!(person.send(request).await.has_form());
        let head = person.send(person.request(Method::HEAD, &asked.link)).await;
        assert_eq!((head.status, head.html.as_str()), (200, ""));
        assert_untouched(app, &asked).await;
    }

    /// An answer counts only with the cookie of the browser that was shown the page, and with the nonce of that page. A refusal
    /// never loses the typed text.
    async fn a_post_needs_the_cookie_and_nonce_of_its_own_page(app: &mut TestApp) {
        let (asked_here, asked_there) = (asked(app, json!({})).await, asked(app, json!({})).await);
        let (mut person, mut stranger) = (app.person(), app.person());
        let nonce = person.open(&asked_here.link).await.nonce();
        let of_other_link = person.open(&asked_there.link).await.nonce();
        let of_other_browser = stranger.open(&asked_here.link).await.nonce();
        assert_ne!(nonce, of_other_browser);
        let nobody = app.person();
        let mut forger = app.person();
        forger.cookie = Some("a=AAAA".to_owned());
        for (who, nonce) in [
            (&nobody, nonce.as_str()),
            (&forger, &nonce),
            (&stranger, &nonce),
            (&person, &of_other_link),
            (&person, &of_other_browser),
            (&person, &nonce[..nonce.len() - 1]),
            (&person, ""),
        ] {
            let fields = [("nonce", nonce), ("value", "approve"), ("comment", "I typed this & that")];
            let page = who.clone().post(&asked_here.link, &fields).await;
            assert_eq!(page.status, 403, "{}", page.html);
            assert!(page.html.contains("This page was open for too long") && page.html.contains("I typed this &#38; that</textarea>"));
            // The page in the reply has a form and a nonce, so the person only has to press once more.
            assert!(page.has_form() && !page.nonce().is_empty());
        }
        assert_untouched(app, &asked_here).await;
        let posted = person.post(&asked_here.link, &[("nonce", &nonce), ("value", "approve")]).await;
        assert_eq!(posted.status, 303);
        assert_eq!(response(app, &asked_here).await, json!("approve"));
        assert_untouched(app, &asked_there).await;
    }

    /// The page after a refusal carries a nonce that fits: a person who lost the cookie presses once more and is done.
    async fn the_page_after_a_refusal_can_be_sent(app: &mut TestApp) {
        let asked = asked(app, json!({"response_type": "text", "choices": []})).await;
        let mut person = app.person();
        person.open(&asked.link).await;
        person.cookie = None;
        let again = person.post(&asked.link, &[("nonce", "x"), ("value", "Dear <b>Ms Groß</b>,\r\n\r\nyes.")]).await;
        assert_eq!(again.status, 403);
        assert!(again.html.contains("Dear &#60;b&#62;Ms Groß&#60;/b&#62;,\n\nyes.</textarea>"), "{}", again.html);
        let posted = person.post(&asked.link, &[("nonce", &again.nonce()), ("value", "Dear Ms Groß")]).await;
        assert_eq!(posted.status, 303);
        assert_eq!(response(app, &asked).await, json!("Dear Ms Groß"));
    }

    /// Another site must not be able to send the form in a person's name, whatever data it has obtained.
    async fn a_form_from_elsewhere_is_refused(app: &mut TestApp) {
        let asked = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        let form = |person: &Person| person.bare_form(&asked.link, &[("nonce", &nonce), ("value", "approve")]);
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", ""),
            ("origin", &format!("{}0", person.origin)),
            ("origin", &person.origin.replace("http:", "https:")),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
        ] {
            let request = form(&person).header(name, value);
            let page = person.send(request).await;
            assert_eq!((page.status, page.heading().as_str()), (403, "This answer did not come from our page"), "{name}: {value}");
        }
        assert_untouched(app, &asked).await;
        // Old browsers send neither `Origin` nor `Sec-Fetch-Site`. For them the cookie and the nonce are enough.
        let request = form(&person);
        assert_eq!(person.send(request).await.status, 303);
        assert_eq!(response(app, &asked).await, json!("approve"));
    }

    /// People open a mail twice. The second tab must not break the first.
    async fn two_tabs_share_a_cookie_and_both_work(app: &mut TestApp) {
        let (first, second) = (asked(app, json!({})).await, asked(app, json!({})).await);
        let mut person = app.person();
        let tab = person.open(&first.link).await;
        assert!(tab.set_cookie().is_some());
        let same = person.open(&first.link).await;
        assert_eq!((same.nonce(), same.set_cookie()), (tab.nonce(), None));
        let other = person.open(&second.link).await;
        assert_eq!(other.set_cookie(), None);
        assert_ne!(other.nonce(), tab.nonce());
        assert_eq!(person.post(&second.link, &[("nonce", &other.nonce()), ("value", "deny")]).await.status, 303);
        assert_eq!(person.post(&first.link, &[("nonce", &tab.nonce()), ("value", "approve")]).await.status, 303);
        assert_eq!((response(app, &first).await, response(app, &second).await), (json!("approve"), json!("deny")));
    }

    /// Fingers press twice. The second press must neither decide again nor look like a failure.
    async fn a_double_click_answers_once(app: &mut TestApp) {
        let asked = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        let fields = [("nonce", nonce.as_str()), ("value", "approve")];
        let (mut left, mut right) = (person.clone(), person.clone());
        let (one, two) = tokio::join!(left.post(&asked.link, &fields), right.post(&asked.link, &fields));
        for page in [one, two] {
            let shown = person.follow(&asked.link, &page).await;
            assert_eq!((shown.status, shown.heading().as_str()), (200, "Your answer was recorded"));
        }
        let resumed = app.agent().event_types(asked.intent).await;
        assert_eq!(resumed.iter().filter(|event| *event == "intent.resumed").count(), 1, "{resumed:?}");
    }

    /// Two people, one question: the first answer counts, and the second person is told so plainly.
    async fn the_second_of_two_people_is_told_who_was_first(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        app.agent().suspend(intent, json!({"notify_to": [OPERATOR, "jonas@example.com"]})).await.ok();
        app.settle().await;
        let mut links = std::collections::BTreeMap::new();
        for _ in 0..2 {
            let mail = app.smtp.next_mail().await;
            links.insert(mail.to.concat(), mail.link(&app.base));
        }
        let (mine, theirs) = (&links[OPERATOR], &links["jonas@example.com"]);
        let mut late = app.person();
        let nonce = late.open(mine).await.nonce();
        app.person().answer(theirs, "deny").await;
        app.advance(6).await;
        // A person who only looks is not told that an answer was not counted.
        let looked = late.open(mine).await;
        assert_eq!(looked.heading(), "jonas@example.com answered first");
        assert!(!looked.html.contains("not counted") && looked.html.contains("Deny refund"));
        let posted = late.post(mine, &[("nonce", &nonce), ("value", "approve")]).await;
        let shown = late.follow(mine, &posted).await;
        assert_eq!(shown.heading(), "jonas@example.com answered first");
        assert!(shown.html.contains("Yours was not counted."));
        let agent = app.agent();
        assert_eq!(agent.status(intent).await, "active");
        let events = agent.events(intent).await;
        assert_eq!(events.last().unwrap()["event_type"], json!("intent.response_rejected"));
        assert_eq!(events.iter().filter(|event| event["event_type"] == "intent.resumed").count(), 1);
    }

    /// A link is good for its own question and no other, not even the next one of the same intent.
    async fn a_link_answers_its_own_question_only(app: &mut TestApp) {
        let old = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&old.link).await.nonce();
        let new = app.agent().suspend(old.intent, json!({"supersedes": old.id, "question": "Refund twice?"})).await.ok();
        app.settle().await;
        let posted = person.post(&old.link, &[("nonce", &nonce), ("value", "approve")]).await;
        assert_eq!(person.follow(&old.link, &posted).await.heading(), "A newer question replaced this one");
        let open = app.agent().suspension(new["id"].as_str().unwrap()).await;
        assert_eq!(open["resolution"], json!(null));
        // A token that joins the row number of one link to the secret of another opens nothing.
        let new_link = app.next_link().await;
        let bytes = |link: &str| URL_SAFE_NO_PAD.decode(link.rsplit("plc_").next().unwrap()).unwrap();
        let mixed = [&bytes(&old.link)[..8], &bytes(&new_link)[8..]].concat();
        let mixed = format!("{}a/plc_{}", app.base, URL_SAFE_NO_PAD.encode(mixed));
        assert_eq!(person.open(&mixed).await.status, 404);
        assert_eq!(person.answer(&new_link, "deny").await.heading(), "Your answer was recorded");
    }

    /// A mail may come late: the token of an earlier try opens the same question as the newest.
    async fn the_link_of_an_earlier_try_still_works(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        let id = app.agent().asked(intent).await;
        app.smtp.script(harness::smtp::Fault::KeepThenDrop);
        app.settle().await;
        app.advance(5).await;
        let (earlier, later) = (app.next_link().await, app.next_link().await);
        assert_ne!(earlier, later);
        assert!(app.person().open(&later).await.has_form());
        assert_eq!(app.person().answer(&earlier, "approve").await.heading(), "Your answer was recorded");
        assert_eq!(app.person().open(&later).await.heading(), "Your answer was recorded");
        assert_eq!(response(app, &Asked { intent, id, link: earlier }).await, json!("approve"));
    }

    /// The deadline takes effect when the clock reaches it. Until the timer has run, the page must not offer an answer that
    /// cannot count.
    async fn a_page_after_the_deadline_offers_nothing_even_before_the_timer_ran(app: &mut TestApp) {
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        let asked = asked(app, fallback).await;
        let mut person = app.person();
        app.clock.jump(TimeDelta::seconds(3600) - TimeDelta::microseconds(1));
        let nonce = person.open(&asked.link).await.nonce();
        app.clock.jump(TimeDelta::microseconds(1)); // No worker runs here.
        let shown = person.open(&asked.link).await;
        assert_eq!((shown.heading().as_str(), shown.has_form()), ("The deadline has passed", false));
        let posted = person.post(&asked.link, &[("nonce", &nonce), ("value", "approve")]).await;
        assert_eq!(person.follow(&asked.link, &posted).await.heading(), "The deadline has passed");
        assert_eq!(response(app, &asked).await, json!("deny"), "the fallback, never the late answer");
        let types = app.agent().event_types(asked.intent).await;
        assert!(!types.contains(&"intent.resumed".to_owned()), "{types:?}");
    }

    /// A person types for a while and the server is updated meanwhile: the open page must still work.
    async fn a_page_survives_a_restart(app: &mut TestApp) {
        let asked = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        app.restart().await;
        assert_eq!(person.open(&asked.link).await.nonce(), nonce);
        let posted = person.post(&asked.link, &[("nonce", &nonce), ("value", "deny")]).await;
        app.restart().await;
        assert_eq!(person.follow(&asked.link, &posted).await.heading(), "Your answer was recorded");
        assert_eq!(response(app, &asked).await, json!("deny"));
    }
}

on_each_store! {
    /// A person's comment reaches the agent as metadata of the answer, and does not change the answer.
    async fn a_comment_arrives_as_metadata(app: &mut TestApp) {
        for (comment, expected) in [
            ("  Not on a Friday\r\nplease  ".to_owned(), Some("Not on a Friday\nplease".to_owned())),
            ("   ".to_owned(), None),
            ("ä".repeat(2048), Some("ä".repeat(2048))),
        ] {
            let asked = asked(app, json!({})).await;
            let mut person = app.person();
            let nonce = person.open(&asked.link).await.nonce();
            let fields = [("nonce", nonce.as_str()), ("value", "deny"), ("comment", &comment)];
            let long = "x".to_owned() + &"ä".repeat(2048);
            let refused = person.post(&asked.link, &[fields[0], fields[1], ("comment", &long)]).await;
            assert!(refused.status == 422 && refused.html.contains("at most 4 KiB") && refused.html.contains(&long), "nothing is cut");
            assert_eq!(person.post(&asked.link, &fields).await.status, 303);
            let record = app.agent().suspension(&asked.id).await;
            assert_eq!(record["metadata"]["comment"].as_str().map(str::to_owned), expected);
            assert_eq!((&record["response"], &record["responded_by"]), (&json!("deny"), &json!(OPERATOR)));
        }
    }

    async fn a_text_answer_has_one_to_16_384_bytes(app: &mut TestApp) {
        let asked = asked(app, json!({"response_type": "text", "choices": []})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        let longest = "ä".repeat(8 * 1024);
        for (text, problem) in [
            (longest.clone() + "!", "must be shorter: at most 16 KiB"),
            (String::new(), "is still empty"),
            (" \r\n\t ".to_owned(), "is still empty"),
        ] {
            let page = person.post(&asked.link, &[("nonce", &nonce), ("value", &text)]).await;
            assert_eq!(page.status, 422);
            assert!(page.html.contains(problem) && page.html.contains("<title>Error:"), "{problem} is missing");
            assert!(page.html.contains(&format!("\n{}</textarea>", text.replace("\r\n", "\n"))), "what was typed is gone");
            assert_eq!(page.nonce(), nonce, "the page can be sent again");
        }
        assert_untouched(app, &asked).await;
        assert_eq!(person.post(&asked.link, &[("nonce", &nonce), ("value", &longest)]).await.status, 303);
        assert_eq!(response(app, &asked).await, json!(longest));
    }

    /// A form says one thing. If the first of two texts counted, or the last, their order would decide for the person.
    async fn a_field_that_comes_twice_answers_nothing(app: &mut TestApp) {
        let choice = asked(app, json!({})).await;
        let text = asked(app, json!({"response_type": "text", "choices": []})).await;
        let fields = json!([{"name": "amount", "type": "number"}]);
        let form = asked(app, json!({"response_type": "form", "choices": [], "context": {"fields": fields}})).await;
        let mut person = app.person();
        for (asked, beside, twice, title, kept) in [
            (&choice, ("comment", "kept"), [("value", "approve"), ("value", "deny")], " (“<bdi>Your answer</bdi>”)", "kept</textarea>"),
            (&choice, ("comment", "kept"), [("value", "deny"), ("value", "deny")], " (“<bdi>Your answer</bdi>”)", "kept</textarea>"),
            (&choice, ("value", "approve"), [("comment", "one"), ("comment", "two")], " (“<bdi>Comment</bdi>”)", "one</textarea>"),
            (&choice, ("comment", "kept"), [("hand", "claim"), ("hand", "claim")], "", "kept</textarea>"),
            (&choice, ("comment", "kept"), [("draft", "save"), ("draft", "save")], "", "kept</textarea>"),
            (&choice, ("value", "approve"), [("nonce", "x"), ("other", "y")], "", "</textarea>"),
            (&text, ("other", "y"), [("value", "one"), ("value", "two")], " (“<bdi>Your answer</bdi>”)", "one</textarea>"),
            (&form, ("other", "y"), [("field.amount", "1"), ("field.amount", "2")], " (“<bdi>Amount</bdi>”)", "value=\"1\""),
        ] {
            let nonce = person.open(&asked.link).await.nonce();
            let page = person.post(&asked.link, &[("nonce", nonce.as_str()), beside, twice[0], twice[1]]).await;
            assert_eq!(page.status, 422, "{twice:?}: {}", page.html);
            let said = format!("A field came more than once{title}, so nothing was saved and nothing was decided.");
            assert!(page.html.contains(&said) && page.html.contains(kept), "{twice:?}: {}", page.html);
            assert!(page.html.contains("The form arrived damaged") && !page.html.contains("needs a change"), "{twice:?}: {}", page.html);
            assert_eq!(page.nonce(), nonce, "the page can be sent again");
            assert_untouched(app, asked).await;
            assert!(!app.person().open(&asked.link).await.html.contains("saved a draft on"), "{twice:?}");
        }
        let (nonce, everything) = (person.open(&form.link).await.nonce(), format!("{}?show=everything", form.link));
        let page = person.post(&everything, &[("nonce", &nonce), ("field.amount", "1"), ("field.amount", "2")]).await;
        assert_eq!(page.status, 422, "nor does the way to the rest of a text drop one: {}", page.html);
        let nonce = person.open(&choice.link).await.nonce();
        assert_eq!(person.post(&choice.link, &[("nonce", &nonce), ("value", "deny"), ("comment", "once")]).await.status, 303);
        assert_eq!(response(app, &choice).await, json!("deny"));
        // A question that has ended shows its outcome, as after every other form.
        let late = person.post(&choice.link, &[("nonce", &nonce), ("value", "deny"), ("value", "approve")]).await;
        assert_eq!(person.follow(&choice.link, &late).await.heading(), "Your answer was recorded");
    }

    async fn only_a_choice_that_is_offered_counts(app: &mut TestApp) {
        let asked = asked(app, json!({})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        for value in ["Approve", "approve ", "", "yes"] {
            let page = person.post(&asked.link, &[("nonce", &nonce), ("value", value), ("comment", "kept")]).await;
            assert_eq!(page.status, 422, "{value:?}");
            assert!(page.html.contains("That is not one of the choices") && page.html.contains("kept</textarea>"));
        }
        assert_eq!(person.post(&asked.link, &[("nonce", &nonce)]).await.status, 422);
        assert_untouched(app, &asked).await;
    }

    async fn fields_arrive_typed_and_only_when_all_are_right(app: &mut TestApp) {
        let fields = json!([
            {"name": "cap", "type": "number"}, {"name": "law", "options": ["Germany", "Norway"]},
            {"name": "nonce", "required": false}, {"name": "copy", "type": "boolean"},
        ]);
        let asked = asked(app, json!({"response_type": "form", "choices": [], "context": {"fields": fields}})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        let wrong = [("nonce", nonce.as_str()), ("field.cap", "25oo"), ("field.law", "France"), ("field.copy", "on")];
        let page = person.post(&asked.link, &wrong).await;
        assert_eq!(page.status, 422);
        assert!(page.html.contains("Two fields need a change") && page.html.contains("value=\"25oo\""));
        assert_untouched(app, &asked).await;
        let right = [("nonce", nonce.as_str()), ("field.cap", "2500.5"), ("field.law", "Norway"), ("field.nonce", "mine"), ("field.copy", "on")];
        assert_eq!(person.post(&asked.link, &right).await.status, 303);
        assert_eq!(response(app, &asked).await, json!({"cap": 2500.5, "law": "Norway", "nonce": "mine", "copy": true}));
    }

    /// No person can agree to text that the open page has left out, whatever the browser posts from it.
    async fn a_page_that_folds_something_takes_no_answer(app: &mut TestApp) {
        let asked = asked(app, json!({"context": {"terms": "line\n".repeat(53)}})).await;
        let mut person = app.person();
        let folded = person.open(&asked.link).await;
        assert!(folded.html.contains(" disabled>") && !folded.html.contains("name=\"nonce\""), "{}", folded.html);
        for query in ["?show=nothing", "?end=reached", "?show=everything=", "?tried"] {
            assert!(!person.open(&format!("{}{query}", asked.link)).await.html.contains("name=\"nonce\""), "{query}");
        }
        for nonce in ["", "x"] {
            let page = person.post(&asked.link, &[("nonce", nonce), ("value", "approve"), ("comment", "kept")]).await;
            assert_eq!(page.status, 403);
            // The page in the reply shows the whole text. Its answers stay locked until the person has seen the end of it.
            assert!(page.html.contains(" disabled>") && page.html.contains("id=\"end\"") && page.html.contains("kept</textarea>"));
        }
        assert_untouched(app, &asked).await;
        let everything = format!("{}?show=everything", asked.link);
        // The comment that was typed beside the folded text stays, with scripts and without.
        for query in ["?show=everything", "?show=everything&end=reached"] {
            let shown = person.post(&format!("{}{query}", asked.link), &[("comment", "typed <b>")]).await;
            assert_eq!(shown.status, 200);
            assert!(shown.html.contains("typed &#60;b&#62;</textarea>") && shown.html.contains("name=\"nonce\""), "{}", shown.html);
            let foreign = person.bare_form(&format!("{}{query}", asked.link), &[("comment", "typed")]).header("origin", "https://evil.example");
            let foreign = person.send(foreign).await;
            assert_eq!(foreign.status, 403);
        }
        assert_untouched(app, &asked).await;
        assert!(person.open(&everything).await.html.contains(" disabled>"));
        let end = person.open(&format!("{everything}&end=reached")).await;
        assert!(!end.html.contains(" disabled>"));
        assert_untouched(app, &asked).await;
        assert_eq!(person.post(&asked.link, &[("nonce", &end.nonce()), ("value", "approve")]).await.status, 303);
        assert_eq!(response(app, &asked).await, json!("approve"));
    }

    /// If one of the answers or fields has a long text, the mark of its end stands behind that text, and the link that unlocks
    /// the answers without scripts comes after the mark.
    async fn long_text_among_the_answers_is_unlocked_behind_it(app: &mut TestApp) {
        let long = vec!["two"; 500].join("\n");
        let described = json!([{"value": "approve", "label": "Approve", "description": long}, {"value": "deny", "label": "Deny"}]);
        let fields = json!({"fields": [{"name": "a", "description": "x".repeat(60_000)}, {"name": "b"}]});
        let terms = json!({"terms": "line\n".repeat(53)});
        let form = |context: Value| json!({"response_type": "form", "choices": [], "context": context});
        for (question, text, behind, marks) in [
            (json!({"choices": described, "context": {"order": "1"}}), "two</span>", "for=\"comment\"", 1),
            (json!({"choices": described, "context": terms}), "two</span>", "for=\"comment\"", 2),
            (form(fields), "id=\"f1\"", "Send this answer", 1),
        ] {
            let asked = asked(app, question).await;
            let mut person = app.person();
            let everything = format!("{}?show=everything", asked.link);
            let html = person.open(&everything).await.html;
            let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is missing in {html}"));
            let (mark, link) = (place("id=\"end-of-answers\""), place("formaction=\"?show=everything&amp;end=reached#d\""));
            assert!(place(text) < mark && mark < link && link < html.rfind(behind).unwrap(), "the end is elsewhere: {html}");
            assert_eq!((html.matches("end=reached").count(), html.matches("mark\" id=\"end").count()), (1, marks), "{html}");
            let buttons = |html: &str| {
                // The first button of the form is never pressed: it keeps Enter from answering.
                let html = html.replace("<button disabled hidden>", "").replace("<button form=\"answer-form\" disabled hidden>", "");
                // This one leads to the end of the text, and answers nothing.
                let html = html.replace("<button class=\"lock link\"", "");
                (html.matches("<button").count(), html.matches(" disabled>").count())
            };
            assert!(buttons(&html).0 == buttons(&html).1 && html.contains("class=\"wrap slim\""), "{html}");
            assert_eq!(buttons(&person.open(&format!("{everything}&end=reached")).await.html).1, 0);
        }
    }

    /// A page that takes an answer shows every text that the agent sent with the question, even if it has no control for it.
    async fn no_member_of_a_field_or_a_choice_is_left_out(app: &mut TestApp) {
        let form = |field: Value| json!({"response_type": "form", "choices": [], "context": {"fields": [field]}});
        let typed = asked(app, form(json!({"name": "a", "options": ["x"], "type": "The agent may also pay twice."}))).await;
        let html = app.person().open(&typed.link).await.html;
        assert!(html.contains("More about the field “A”") && html.contains("The agent may also pay twice."), "{html}");
        assert!(html.contains("<option value=\"x\">"), "it is still a field: {html}");
        let plain = asked(app, form(json!({"name": "a", "options": ["x"], "type": "text"}))).await;
        assert!(!app.person().open(&plain.link).await.html.contains("More about"));
        let long = asked(app, form(json!({"name": "a", "options": ["x"], "type": "terms ".repeat(10_000)}))).await;
        let html = app.person().open(&long.link).await.html;
        assert!(html.contains(" disabled>") && !html.contains("name=\"nonce\""), "it is folded and locks: {html}");

        let choice = json!({"value": "pay_all", "label": "Pay", "description": "Twice", "metadata": {"to": "Marta"}});
        for response_type in ["text", "form"] {
            let asked = asked(app, json!({"response_type": response_type, "choices": [choice]})).await;
            let html = app.person().open(&asked.link).await.html;
            for shown in ["Choice “Pay”, not offered as a button", ">pay_all</div>", ">Pay</div>", ">Twice</div>", "Marta"] {
                assert!(html.contains(shown), "{shown} is missing in {html}");
            }
        }
    }

    /// If a form is too large to be read, the page says so. It must not say that the form came from another site.
    async fn a_form_beyond_every_bound_is_refused_as_such(app: &mut TestApp) {
        let asked = asked(app, json!({"response_type": "text", "choices": []})).await;
        let mut person = app.person();
        let nonce = person.open(&asked.link).await.nonce();
        let page = person.post(&asked.link, &[("nonce", &nonce), ("value", &"x".repeat(256 * 1024))]).await;
        assert_eq!((page.status, page.heading().as_str()), (413, "Your answer could not be read"));
        assert_untouched(app, &asked).await;
    }

    /// For 30 days a used link shows the outcome of the question; then it is as if the question had never existed.
    async fn an_outcome_is_shown_for_30_days_and_then_not_even_its_existence(app: &mut TestApp) {
        let answered = asked(app, json!({})).await;
        app.person().answer(&answered.link, "approve").await;
        let expired = asked(app, json!({"timeout_seconds": 1})).await;
        app.advance(1).await;
        app.advance(30 * 86_400 - 3_601).await;
        assert_eq!(app.person().open(&answered.link).await.heading(), "Your answer was recorded");
        assert_eq!(app.person().open(&expired.link).await.heading(), "The deadline has passed");
        app.restart().await;
        app.advance(3_600).await; // 30 days after the answer, a second less after the deadline.
        assert_eq!(app.person().open(&answered.link).await.status, 404);
        assert_eq!(app.person().open(&expired.link).await.status, 200);
        app.advance(1).await;
        let never_minted = format!("{}a/plc_{}", app.base, "AAAAAAAAAAEA".to_owned() + &"A".repeat(42));
        let malformed = format!("{}a/plc_x", app.base);
        let unknown = app.person().open(&never_minted).await;
        assert_eq!((unknown.status, unknown.heading().as_str()), (404, "This link leads to no question"));
        for link in [&answered.link, &expired.link, &malformed] {
            assert!(same(&app.person().open(link).await) == same(&unknown), "{link}");
        }
        let refused = app.person().post(&never_minted, &[("value", "approve")]).await;
        assert_eq!((refused.status, &refused.html), (404, &unknown.html));
        for link in [&answered.link, &expired.link, &malformed] {
            assert!(same(&app.person().post(link, &[("value", "approve")]).await) == same(&refused), "{link}");
        }
        assert_eq!(app.agent().event_types(answered.intent).await.len(), 6, "nothing was recorded");
    }

    /// Each link has limits, so that it cannot be used to try many values or to keep the server busy.
    async fn each_link_has_its_own_limits(app: &mut TestApp) {
        let (limited, free) = (asked(app, json!({})).await, asked(app, json!({})).await);
        let mut person = app.person();
        let nonce = person.open(&limited.link).await.nonce();
        let posting = Instant::now();
        for _ in 0..10 {
            assert_eq!(person.post(&limited.link, &[("nonce", &nonce), ("value", "maybe")]).await.status, 422);
        }
        // Ten a minute is one more every six seconds, and the machine may have been slow.
        let mut page = person.post(&limited.link, &[("nonce", &nonce), ("value", "maybe")]).await;
        let mut posted = 11.0;
        while page.status == 422 && posted <= 11.0 + posting.elapsed().as_secs_f64() / 6.0 {
            page = person.post(&limited.link, &[("nonce", &nonce), ("value", "maybe")]).await;
            posted += 1.0;
        }
        assert_eq!((page.status, page.heading().as_str()), (429, "Too many tries"));
        assert!(page.nonce() == nonce && page.html.contains("readonly value=\"maybe\""), "it can be sent again: {}", page.html);
        assert_untouched(app, &limited).await;

        let began = Instant::now();
        // One was opened above and one is opened by the assertion; 120 a minute is one more every half second.
        let mut opened = 2.0;
        while person.open(&limited.link).await.status == 200 {
            opened += 1.0;
            assert!(opened <= 121.0 + began.elapsed().as_secs_f64() * 2.0, "{opened} in {:?}", began.elapsed());
        }
        assert!(opened >= 120.0, "only {opened}");
        assert_eq!(person.answer(&free.link, "deny").await.heading(), "Your answer was recorded");
    }
}

/// The parts that must be equal on two pages for links that lead to no question.
fn same(page: &Page) -> (u16, &str, Vec<(String, String)>) {
    let differs = ["date", "x-request-id"];
    let headers = page.headers.iter().filter(|(name, _)| !differs.contains(&name.as_str()));
    let mut headers: Vec<_> = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    headers.sort_unstable(); // They come in no fixed order.
    (page.status, &page.html, headers)
}
