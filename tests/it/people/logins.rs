//! People who log in: the link in a mail, the session that it begins, and everything that must not open one.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::{Entropy as _, PersonId};
use domain::people::preferences::Preferences;
use domain::people::principal::Role;
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::person::{Page, Person};
use harness::smtp::Fault;
use reqwest::Method;
use serde_json::{Value, json};
use store::host::account;
use store::host::clock::SystemEntropy;
use store::{LOGIN_MAILS_PER_HOUR, LOGIN_MAILS_WITHIN, LOGINS_MAX, Named, NewPerson};

/// The auditor of these tests.
pub(crate) const ADA: &str = "ada@example.com";

/// Lists a person.
pub(crate) async fn list(app: &TestApp, address: &str, role: Role) {
    let id = PersonId(SystemEntropy.uuid(chrono::DateTime::UNIX_EPOCH));
    let person = NewPerson { id, address: address.to_owned(), role, preferences: Preferences::default() };
    app.store().add_person(account::principal(), Ok(person)).await.unwrap();
}

fn at(app: &TestApp, path: &str) -> String {
    format!("{}{path}", app.base)
}

/// Asks for a login link, as a browser does.
pub(crate) async fn ask(app: &TestApp, person: &mut Person, address: &str) -> Page {
    let nonce = person.open(&at(app, "login")).await.nonce();
    let asked = person.post(&at(app, "login"), &[("nonce", &nonce), ("address", address)]).await;
    app.settle().await;
    asked
}

/// Confirms on the page behind a link.
async fn confirm(person: &mut Person, link: &str) -> Page {
    let nonce = person.open(link).await.nonce();
    person.post(link, &[("nonce", &nonce)]).await
}

/// Logs a person in who is listed.
pub(crate) async fn log_in(app: &TestApp, address: &str) -> Person {
    let mut person = app.person();
    ask(app, &mut person, address).await;
    let link = app.next_link().await;
    let entered = confirm(&mut person, &link).await;
    assert_eq!((entered.status, entered.header("location")), (303, "/inbox"), "{}", entered.html);
    person
}

/// Logs a person in, in this browser, who comes from the `login` with this path and query. The page to which the login leads.
pub(crate) async fn log_in_for(app: &TestApp, person: &mut Person, address: &str, login: &str) -> Page {
    let shown = person.open(&at(app, login)).await;
    let nonce = shown.nonce();
    let question =
        shown.html.split_once("name=\"question\" value=\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
    let mut fields = vec![("nonce", nonce.as_str()), ("address", address)];
    fields.extend(question.as_deref().map(|question| ("question", question)));
    person.post(&at(app, "login"), &fields).await;
    app.settle().await;
    let link = app.next_link().await;
    confirm(person, &link).await
}

/// The status of the audit page for a browser, and where it is led.
pub(crate) async fn seen(app: &TestApp, person: &Person) -> (u16, String) {
    let page = person.clone().open(&at(app, "audit")).await;
    (page.status, page.header("location").to_owned())
}

async fn is_in(app: &TestApp, person: &Person) -> bool {
    seen(app, person).await == (200, String::new())
}

/// The last events of the server's own log: type, actor, payload.
pub(crate) async fn last(app: &TestApp, count: usize) -> Vec<(String, String, Value)> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    let events = events.as_array().unwrap();
    let text = |event: &Value, member: &str| event[member].as_str().unwrap().to_owned();
    let told = events.iter().map(|event| (text(event, "event_type"), text(event, "actor"), event["payload"].clone()));
    told.skip(events.len() - count).collect()
}

on_each_store! {
    /// The whole way, with a restart at each step: nothing of a login may live in memory alone.
    async fn a_listed_person_logs_in_by_a_link_in_a_mail(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let mut ada = app.person();
        assert_eq!(seen(app, &ada).await, (303, "/login".to_owned()));
        let nonce = ada.open(&at(app, "login")).await.nonce();
        let asked = ada.post(&at(app, "login"), &[("nonce", &nonce), ("address", " Ada@Example.COM ")]).await;
        assert_eq!((asked.status, asked.header("location")), (303, "/login?asked"), "{}", asked.html);
        app.restart().await;
        app.settle().await;
        let mail = app.smtp.next_mail().await;
        let link = mail.link(&app.base);
        assert!(link.starts_with(&at(app, "login/plc_")), "{link}");
        app.restart().await;
        let shown = ada.open(&link).await;
        assert!(shown.status == 200 && shown.html.contains(ADA), "{}", shown.html);
        assert_eq!(shown.header("cache-control"), "no-store");
        app.restart().await;
        let entered = ada.post(&link, &[("nonce", &shown.nonce())]).await;
        let cookie = entered.set_cookie().unwrap().to_owned();
        assert!(cookie.starts_with("session-") && cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"), "{cookie}");
        app.restart().await;
        assert!(is_in(app, &ada).await);
        let page = ada.open(&at(app, "audit")).await;
        assert!(page.html.contains(ADA) && page.html.contains("auditor"), "{}", page.html);
        let [confirmed, began] = last(app, 2).await.try_into().unwrap();
        assert_eq!((confirmed.0.as_str(), confirmed.1.as_str()), ("person.confirmed", ADA));
        assert_eq!((began.0.as_str(), began.1.as_str(), &began.2["role"]), ("session.began", ADA, &json!("auditor")));
        let people = app.store().people(account::principal()).await.unwrap();
        assert!(people.iter().any(|person| person.address == ADA && person.confirmed_at.is_some()));
        let secret = cookie.split(['=', ';']).nth(1).unwrap();
        assert!(!began.2.to_string().contains(secret));
    }

    /// A login form that tells which addresses are listed tells an attacker whom to write to.
    async fn the_replies_do_not_tell_whether_an_address_is_listed(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let mut replies = Vec::new();
        for address in [ADA, "eve@example.com"] {
            let mut person = app.person();
            let asked = ask(app, &mut person, address).await;
            let shown = person.follow(&at(app, "login"), &asked).await;
            // The page shows what was typed once more, because it may be mistyped.
            assert!(shown.html.contains(&format!("name=\"address\" type=\"email\" autocomplete=\"email\" required maxlength=\"254\" value=\"{address}\"")), "{}", shown.html);
            let html = shown.html.replace(address, "ADDRESS").replace(&shown.nonce(), "NONCE");
            replies.push((asked.status, asked.header("location").to_owned(), asked.html, shown.status, html));
        }
        assert_eq!(replies[0], replies[1]);
        assert!(replies[0].4.contains("If the address may log in"), "{}", replies[0].4);
        app.smtp.next_mail().await;
        assert!(!app.smtp.has_unread(), "only the listed person gets a mail");
        for wrong in ["", "ada", "Ada <ada@example.com>", "ada@example.com, eve@example.com"] {
            let refused = ask(app, &mut app.person(), wrong).await;
            assert!(refused.status == 422 && refused.html.contains("Type one e-mail address"), "{wrong}: {}", refused.html);
            assert!(refused.html.contains(&format!("value=\"{}\"", wrong.replace('<', "&#60;").replace('>', "&#62;"))), "{wrong}: {}", refused.html);
        }
    }

    /// A form that sends a mail must not become a way to flood a mailbox.
    async fn five_links_go_to_an_address_while_the_first_can_be_used(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let mut ada = app.person();
        for mails in [1, 1, 1, 1, 1, 0] {
            assert_eq!(ask(app, &mut ada, ADA).await.status, 303);
            assert_eq!(usize::from(app.smtp.has_unread()), mails);
            if mails == 1 {
                app.smtp.next_mail().await;
            }
            app.advance(60).await;
        }
        app.advance(15 * 60 - 6 * 60).await; // The first one is exactly fifteen minutes old, and counts no more.
        ask(app, &mut ada, ADA).await;
        app.smtp.next_mail().await;
        ask(app, &mut ada, ADA).await;
        assert!(!app.smtp.has_unread());
    }

    /// A person who uses each link is not locked out by the links that were used, and no mailbox gets more than so many mails in an hour.
    async fn used_links_lock_no_one_out_and_no_mailbox_is_flooded(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        for _ in 0..=LOGINS_MAX {
            log_in(app, ADA).await; // The sixth time, five links of the last minutes are used.
        }
        let stranger = &mut app.person();
        for mail in LOGINS_MAX + 2..=LOGIN_MAILS_PER_HOUR {
            ask(app, stranger, ADA).await;
            let link = app.next_link().await;
            assert_eq!(confirm(&mut app.person(), &link).await.status, 303, "mail {mail}");
        }
        ask(app, stranger, ADA).await;
        assert!(!app.smtp.has_unread(), "{LOGIN_MAILS_PER_HOUR} are the most");
        app.advance(LOGIN_MAILS_WITHIN.num_seconds() - 1).await;
        ask(app, stranger, ADA).await;
        assert!(!app.smtp.has_unread(), "one second early");
        app.advance(1).await;
        log_in(app, ADA).await;
    }

    /// Programs open the links in mails, and people forward mails. A link opens one session, to the person who confirms.
    async fn a_link_works_once_within_fifteen_minutes_and_only_by_its_form(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let mut ada = app.person();
        ask(app, &mut ada, ADA).await;
        let link = app.next_link().await;
        for method in [Method::HEAD, Method::GET, Method::GET] {
            assert_eq!(ada.request(method, &link).send().await.unwrap().status(), 200);
        }
        let nonce = ada.open(&link).await.nonce();
        // No nonce, the nonce of another browser, another site.
        let mut eve = app.person();
        let hers = eve.open(&link).await.nonce();
        for wrong in ["", &hers] {
            let refused = ada.post(&link, &[("nonce", wrong)]).await;
            assert!(refused.status == 403 && refused.html.contains("open for too long"), "{}", refused.html);
        }
        let foreign = ada.bare_form(&link, &[("nonce", &nonce)]).header("origin", "https://evil.example");
        assert_eq!(foreign.send().await.unwrap().status(), 403);
        app.advance(15 * 60 - 1).await;
        assert_eq!(ada.post(&link, &[("nonce", &nonce)]).await.status, 303, "one second early");
        for (status, page) in [(404, ada.open(&link).await), (404, ada.post(&link, &[("nonce", &nonce)]).await)] {
            assert!(page.status == status && page.html.contains("cannot be used"), "{}", page.html);
        }
        ask(app, &mut eve, ADA).await;
        let late = app.next_link().await;
        let nonce = eve.open(&late).await.nonce();
        app.advance(15 * 60).await;
        assert_eq!(eve.post(&late, &[("nonce", &nonce)]).await.status, 404);
        for unknown in ["login/x", "login/plc_AAAA", &format!("login/plc_{}", "A".repeat(43))] {
            assert_eq!(eve.open(&at(app, unknown)).await.status, 404);
        }
    }

    /// A stolen cookie must not work for ever, and a person who leaves has left everywhere.
    async fn a_session_ends_by_idleness_age_logout_and_removal(app: &mut TestApp) {
        list(app, ADA, Role::Admin).await;
        let ada = log_in(app, ADA).await;
        app.advance(30 * 60 - 1).await;
        assert!(is_in(app, &ada).await, "one second early");
        app.advance(30 * 60).await;
        assert_eq!(seen(app, &ada).await, (303, "/login".to_owned()));
        let ada = log_in(app, ADA).await;
        for _ in 0..35 {
            app.advance(20 * 60).await;
            assert!(is_in(app, &ada).await);
        }
        app.advance(20 * 60).await; // Twelve hours in all.
        assert!(!is_in(app, &ada).await);
        let (mut here, there, third) = (log_in(app, ADA).await, log_in(app, ADA).await, log_in(app, ADA).await);
        let leave = async |person: &mut Person, place: &str| {
            let nonce = person.open(&at(app, "audit")).await.nonce();
            person.post(&at(app, "logout"), &[("nonce", &nonce), ("where", place)]).await
        };
        let stolen = here.clone();
        for page in ["logout", "settings", "out-of-office"] {
            let refused = here.post(&at(app, page), &[("nonce", "x")]).await;
            assert_eq!((refused.status, refused.heading().as_str()), (403, "This form did not come from our page"), "{page}");
            assert!(refused.html.contains("Nothing was changed.") && !refused.html.contains("answer there"), "{}", refused.html);
        }
        let shown = here.open(&at(app, "logout")).await;
        assert!(shown.status == 405 && !shown.html.contains("answer with a button"), "{}", shown.html);
        let left = leave(&mut here, "here").await;
        assert!(left.status == 303 && left.set_cookie().unwrap().contains("Max-Age=0"), "{:?}", left.set_cookie());
        assert!(!is_in(app, &stolen).await && is_in(app, &there).await);
        leave(&mut there.clone(), "everywhere").await;
        assert!(!is_in(app, &there).await && !is_in(app, &third).await);
        let ended = last(app, 2).await;
        assert_eq!(ended.iter().map(|event| (event.0.as_str(), &event.2["everywhere"])).collect::<Vec<_>>(),
            [("session.ended", &json!(false)), ("session.ended", &json!(true))]);
        app.advance(3_600).await;
        let ada = log_in(app, ADA).await;
        ask(app, &mut app.person(), ADA).await;
        let link = app.next_link().await;
        app.store().remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap();
        assert!(!is_in(app, &ada).await, "at once");
        assert_eq!(app.person().open(&link).await.status, 404);
        assert_eq!(last(app, 1).await[0].0, "person.removed");
        // Listed again, the person is another one: the old cookie opens nothing.
        list(app, ADA, Role::Admin).await;
        assert!(!is_in(app, &ada).await);
    }

    /// The id of a session is another one after each login, so an id that an attacker put into a browser is worth nothing.
    async fn a_login_replaces_the_session_of_the_browser(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let mut ada = log_in(app, ADA).await;
        let before = ada.clone();
        ask(app, &mut ada, ADA).await;
        let link = app.next_link().await;
        confirm(&mut ada, &link).await;
        assert!(is_in(app, &ada).await && !is_in(app, &before).await);
        assert!(last(app, 1).await[0].2["replaces"].is_string());
    }

    /// A session reads the audit pages. It answers no question, and it is no key of the API.
    async fn a_session_opens_no_other_door(app: &mut TestApp) {
        for (address, role) in [("op@example.com", Role::Operator), ("root@example.com", Role::Admin), (ADA, Role::Auditor)] {
            list(app, address, role).await;
            let mut person = log_in(app, address).await;
            let page = person.open(&at(app, "audit")).await;
            if role == Role::Operator {
                assert!(page.status == 403 && page.html.contains("Your role does not see this page"), "{}", page.html);
            } else {
                assert_eq!(page.status, 200);
            }
            for path in ["api/v1/intents", "api/v1/keys", "api/v1/export", "api/v1/server/events"] {
                assert_eq!(person.open(&at(app, path)).await.status, 401, "{path}");
            }
        }
    }

    /// A mail server that is away for a moment must not lock people out, and one that refuses must not be pressed.
    async fn a_mail_that_is_put_off_is_sent_again_with_another_link(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        app.smtp.script(Fault::KeepThenDrop);
        let mut ada = app.person();
        ask(app, &mut ada, ADA).await;
        let first = app.next_link().await;
        app.advance(5).await;
        let second = app.next_link().await;
        assert_ne!(first, second);
        assert_eq!(ada.open(&first).await.status, 404, "the newest mail replaced it");
        assert_eq!(confirm(&mut ada, &second).await.status, 303);
        app.smtp.script(Fault::RejectRecipient);
        ask(app, &mut ada, ADA).await;
        app.advance(600).await;
        assert!(!app.smtp.has_unread());
    }

    /// Two spellings of an address are one person, who is listed once.
    async fn an_address_is_listed_once(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        for (role, words) in [(Role::Auditor, "listed already, with the role auditor"), (Role::Admin, "change the role of that person")] {
            let id = PersonId(SystemEntropy.uuid(chrono::DateTime::UNIX_EPOCH));
            let again = NewPerson { id, address: ADA.to_owned(), role, preferences: Preferences::default() };
            let refused = app.store().add_person(account::principal(), Ok(again)).await.unwrap_err();
            assert!(format!("{refused:?}").contains(words), "{refused:?}");
        }
        assert_eq!(app.store().people(account::principal()).await.unwrap().len(), 1);
        let added = last(app, 1).await.pop().unwrap();
        assert_eq!((added.0.as_str(), &added.2["address"]), ("person.added", &json!(ADA)));
        app.store().remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap();
        list(app, ADA, Role::Admin).await;
    }
}

/// With https, the browser itself ensures that the cookie comes from this host and over an encrypted connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_https_the_cookie_is_bound_to_the_host() {
    let app =
        TestApp::start_on(Backend::Sqlite, |config| config.public_url = Some("https://placet.example/".parse().unwrap())).await;
    list(&app, ADA, Role::Auditor).await;
    let mut ada = Person::new("https://placet.example");
    ask(&app, &mut ada, ADA).await;
    let link = app.smtp.next_mail().await.link("https://placet.example/");
    let here = link.replace("https://placet.example/", &app.base);
    let entered = confirm(&mut ada, &here).await;
    let cookie = entered.set_cookie().unwrap();
    assert!(cookie.starts_with("__Host-session=") && cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    app.finish().await;
}
