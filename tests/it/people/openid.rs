//! People who log in by an issuer of identities: the way there and back, and everything that must begin no session.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::clock::Clock as _;
use domain::base::time::rfc3339;
use domain::people::group::read_group;
use domain::people::principal::Role;
use harness::app::TestApp;
use harness::issuer::{Behaviour, Issuer, SUBJECT, Signing};
use harness::on_each_store;
use harness::person::{Page, Person};
use serde_json::{Value, json};
use store::Named;
use store::host::account;

use super::logins::{ADA, last, list, log_in, seen};
use super::roster::file;

/// A change of the issuer's behaviour.
type Lie = Box<dyn Fn(&mut Behaviour)>;

/// A server that lets people log in by an issuer.
pub(crate) async fn with_issuer(app: &mut TestApp) -> Issuer {
    let issuer = Issuer::start(app.clock.clone()).await;
    app.restart_with(|config| {
        config.openid = Some(issuer.config());
        config.asking.recent_logins = true;
    })
    .await;
    issuer
}

fn at(app: &TestApp, path: &str) -> String {
    format!("{}{path}", app.base)
}

/// Presses the button of the login.
async fn press(app: &TestApp, person: &mut Person) -> Page {
    let nonce = person.open(&at(app, "login")).await.nonce();
    person.post(&at(app, "login/openid"), &[("nonce", &nonce)]).await
}

/// Presses the button, and gives the address with which the issuer sends the browser back.
async fn to_issuer(app: &TestApp, issuer: &Issuer, person: &mut Person) -> String {
    let pressed = press(app, person).await;
    assert_eq!(pressed.status, 303, "{}", pressed.html);
    let back = issuer.answer(pressed.header("location"));
    assert!(back.starts_with(&at(app, "login/openid?")), "{back}");
    back
}

/// Logs in by the issuer; gives the page at the end.
async fn enter(app: &TestApp, issuer: &Issuer, person: &mut Person) -> Page {
    let back = to_issuer(app, issuer, person).await;
    person.open(&back).await
}

/// Whether the page is the beginning of a session.
fn is_begun(page: &Page) -> bool {
    let has_cookie = page.set_cookie().is_some_and(|cookie| cookie.starts_with("session-"));
    (page.status, page.header("location"), has_cookie) == (303, "/inbox", true)
}

/// Fails the test unless the page says, with this status and these words, that no session began.
fn assert_refused(page: &Page, status: u16, words: &str) {
    assert!(
        page.status == status && page.html.contains(words) && page.set_cookie().is_none(),
        "{words}: {} {}",
        page.status,
        page.html
    );
    assert_eq!(page.heading(), "You are not logged in");
    assert_eq!(page.header("cache-control"), "no-store");
}

/// The types of the events of the server's own log.
async fn told(app: &TestApp) -> Vec<String> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    events.as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap().to_owned()).collect()
}

/// The members of a group.
async fn members(app: &TestApp, name: &str) -> Vec<String> {
    let groups = app.store().groups(account::principal()).await.unwrap();
    groups.into_iter().find(|group| group.name == name).unwrap().members
}

async fn set_group(app: &TestApp, name: &str, members: &[&str]) {
    let members: Vec<String> = members.iter().map(|member| (*member).to_owned()).collect();
    app.store().set_group(account::principal(), read_group(name, &members)).await.unwrap();
}

on_each_store! {
    /// The whole way, with a restart at each step: nothing of a login may live in memory alone.
    async fn a_listed_person_logs_in_by_the_issuer(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        let proved_at = app.clock.now() - TimeDelta::minutes(3);
        issuer.behave(|behaviour| behaviour.claim("auth_time", proved_at.timestamp().into()));
        let mut ada = app.person();
        let shown = ada.open(&at(app, "login")).await;
        let host = issuer.address().to_string();
        assert!(shown.html.contains(&format!("Log in with <b><bdi>{host}</bdi></b>")), "{}", shown.html);
        let policy = shown.header("content-security-policy");
        assert!(policy.contains(&format!("; form-action 'self' http://{host}; ")), "{policy}");
        app.restart().await;
        let pressed = ada.post(&at(app, "login/openid"), &[("nonce", &shown.nonce())]).await;
        assert_eq!((pressed.status, pressed.header("cache-control")), (303, "no-store"), "{}", pressed.html);
        app.restart().await;
        let entered = ada.open(&issuer.answer(pressed.header("location"))).await;
        assert!(is_begun(&entered), "{} {}", entered.status, entered.html);
        let cookie = entered.set_cookie().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"), "{cookie}");
        app.restart().await;
        assert_eq!(seen(app, &ada).await, (200, String::new()));
        let [confirmed, bound, began] = last(app, 3).await.try_into().unwrap();
        assert_eq!((confirmed.0.as_str(), confirmed.1.as_str()), ("person.confirmed", ADA));
        assert_eq!((bound.0.as_str(), bound.1.as_str()), ("identity.bound", ADA));
        assert_eq!((&bound.2["issuer"], &bound.2["subject"], &bound.2["address"]), (&json!(issuer.url()), &json!(SUBJECT), &json!(ADA)));
        assert_eq!((began.0.as_str(), &began.2["method"], &began.2["auth_time"]),
            ("session.began", &json!("openid"), &json!(rfc3339(proved_at))));
        assert!(!issuer.answer(press(app, &mut app.person()).await.header("location")).contains("s3cr3t"));
        // A login by mail says so, too.
        log_in(app, ADA).await;
        let began = last(app, 1).await.pop().unwrap();
        assert_eq!((&began.2["method"], began.2.get("auth_time")), (&json!("mail"), None));
    }

    /// Whatever an issuer or a thief in between sends: only a token that it signed for this login of this browser begins a session.
    async fn a_token_that_lies_begins_no_session(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        let events = told(app).await.len();
        let now = app.clock.now().timestamp();
        let claim = |name: &'static str, value: Value| -> Lie { Box::new(move |behaviour| behaviour.claim(name, value.clone())) };
        let signed = |signing: Signing, key_id: Option<&'static str>| -> Lie {
            Box::new(move |behaviour| (behaviour.signing, behaviour.key_id) = (signing, key_id))
        };
        let lies: Vec<(&str, Lie)> = vec![
            ("a nonce of another login", claim("nonce", json!("another"))),
            ("no nonce", claim("nonce", Value::Null)),
            ("another issuer", claim("iss", json!("https://evil.example"))),
            ("the issuer with a slash more", claim("iss", json!(format!("{}/", issuer.url())))),
            ("no issuer", claim("iss", Value::Null)),
            ("another audience", claim("aud", json!("another"))),
            ("a second audience", claim("aud", json!(["placet", "another"]))),
            ("no audience", claim("aud", Value::Null)),
            ("another party", claim("azp", json!("another"))),
            ("an end that is now", claim("exp", json!(now))),
            ("no end", claim("exp", Value::Null)),
            ("made in the future", claim("iat", json!(now + 301))),
            ("proved in the future", claim("auth_time", json!(now + 301))),
            ("no subject", claim("sub", Value::Null)),
            ("an empty subject", claim("sub", json!(""))),
            ("a long subject", claim("sub", json!("s".repeat(256)))),
            ("a subject with a line break", claim("sub", json!("a\nb"))),
            ("no signature", signed(Signing::None, Some("es"))),
            ("no signature and no key", signed(Signing::None, None)),
            ("the public key as a secret", signed(Signing::Hs256WithPublicKey, Some("es"))),
            ("the client's secret", signed(Signing::Hs256WithSecret, None)),
            ("another's key", signed(Signing::Es256OfAnother, Some("es"))),
            ("another's key without its name", signed(Signing::Es256OfAnother, None)),
            ("the signature of another text", signed(Signing::Es256OfOtherText, Some("es"))),
            ("an unknown key", signed(Signing::Es256, Some("unknown"))),
            ("the name of a key of another kind", signed(Signing::Es256, Some("rs"))),
            ("another issuer beside the code", Box::new(|behaviour| behaviour.names = Some("https://evil.example".to_owned()))),
        ];
        for (name, lie) in lies {
            issuer.behave_but(lie);
            let page = enter(app, &issuer, &mut app.person()).await;
            assert!(page.status == 403, "{name}: {} {}", page.status, page.html);
            assert_refused(&page, 403, "did not pass the checks of this server");
        }
        assert_eq!(told(app).await.len(), events, "nothing has changed");
        // The same login, without a lie.
        issuer.behave_but(|behaviour| behaviour.claim("azp", json!("placet")));
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
    }

    /// Issuers sign with different algorithms. Those with public keys, which are in use, count.
    async fn the_usual_signatures_count(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        for (signing, key_id) in [(Signing::Es256, "es"), (Signing::EdDsa, "ed"), (Signing::Rs256, "rs"), (Signing::Ps256, "rs")] {
            issuer.behave_but(|behaviour| (behaviour.signing, behaviour.key_id) = (signing, Some(key_id)));
            let page = enter(app, &issuer, &mut app.person()).await;
            assert!(is_begun(&page), "{signing:?}: {}", page.html);
        }
        // An issuer that wants the secret in the form says so, and one that always names itself must do it.
        let url = json!(issuer.url());
        for names in [None, Some(issuer.url().to_owned())] {
            let told = names.is_some();
            issuer.behave_but(|behaviour| {
                behaviour.metadata.insert("token_endpoint_auth_methods_supported".to_owned(), json!(["client_secret_post"]));
                behaviour.metadata.insert("authorization_response_iss_parameter_supported".to_owned(), json!(true));
                behaviour.metadata.insert("issuer".to_owned(), url.clone());
                behaviour.names = names;
            });
            app.restart().await;
            let page = enter(app, &issuer, &mut app.person()).await;
            assert_eq!(is_begun(&page), told, "{}", page.html);
        }
    }

    /// The state belongs to one browser, works once and not for long: a link with a stolen answer logs no one in.
    async fn an_answer_works_once_in_the_browser_that_asked(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        let mut ada = app.person();
        let back = to_issuer(app, &issuer, &mut ada).await;
        let mut eve = app.person();
        assert_refused(&eve.open(&back).await, 400, "has not begun this login");
        eve.open(&at(app, "login")).await;
        assert_refused(&eve.open(&back).await, 400, "has not begun this login");
        assert!(is_begun(&ada.open(&back).await), "another browser has not used it up");
        assert_refused(&ada.open(&back).await, 400, "was used already");
        // Without a state, with another one, with two of them.
        let back = to_issuer(app, &issuer, &mut ada).await;
        for wrong in [back.replacen("state=plc_", "state=plc_A", 1), back.replacen("state=", "stat=", 1), format!("{back}&state=x"), at(app, "login/openid")] {
            assert_refused(&ada.open(&wrong).await, 400, "has not begun this login");
        }
        // A code of another login does not fit the browser's verifier.
        let other = to_issuer(app, &issuer, &mut app.person()).await;
        let code = |back: &str| back.split("code=").nth(1).unwrap().to_owned();
        let mixed = back.replace(&code(&back), &code(&other));
        assert_refused(&ada.open(&mixed).await, 403, "did not pass the checks");
        let back = to_issuer(app, &issuer, &mut ada).await;
        app.advance(10 * 60).await;
        assert_refused(&ada.open(&back).await, 400, "took longer than 10 minutes");
        let back = to_issuer(app, &issuer, &mut ada).await;
        app.advance(10 * 60 - 1).await;
        issuer.behave(|behaviour| behaviour.claim("iat", app.clock.now().timestamp().into()));
        assert!(is_begun(&ada.open(&back).await), "one second early");
        // The form needs the nonce of the browser.
        let refused = ada.post(&at(app, "login/openid"), &[("nonce", "x")]).await;
        assert!(refused.status == 422 && refused.html.contains("open for too long"), "{}", refused.html);
        let foreign = ada.bare_form(&at(app, "login/openid"), &[]).header("origin", "https://evil.example");
        assert_eq!(foreign.send().await.unwrap().status(), 403);
        while app.store().forget_expired().await.unwrap() > 0 {}
    }

    /// An error of the issuer is told in our own words; nothing that the browser brings stands on the page.
    async fn an_error_of_the_issuer_is_told_and_not_repeated(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        for (error, shown) in [("access_denied", true), ("login_required", true), ("<b>Call 555-0199</b>", false), ("Call me", false)] {
            issuer.behave_but(|behaviour| behaviour.error = Some(error.to_owned()));
            let page = enter(app, &issuer, &mut app.person()).await;
            assert_refused(&page, 403, "did not log you in");
            assert_eq!(page.html.contains(&format!("<code>{error}</code>")), shown, "{}", page.html);
            assert!(!page.html.contains("555-0199") && !page.html.contains("Call"), "{}", page.html);
        }
    }

    /// The address finds the person once; after that the account does, whatever its address is.
    async fn an_account_is_bound_to_one_listed_person(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        let refused = async |change: fn(&mut Behaviour), words: &str| {
            issuer.behave_but(change);
            let page = enter(app, &issuer, &mut app.person()).await;
            assert_refused(&page, 403, words);
        };
        refused(|_| {}, "does not log in here").await;
        list(app, ADA, Role::Auditor).await;
        list(app, "bob@example.com", Role::Auditor).await;
        refused(|behaviour| behaviour.claim("email", json!("eve@example.com")), "does not log in here").await;
        for claim in [
            |behaviour: &mut Behaviour| behaviour.claim("email_verified", json!(false)),
            |behaviour: &mut Behaviour| behaviour.claim("email_verified", Value::Null),
            |behaviour: &mut Behaviour| behaviour.claim("email", Value::Null),
            |behaviour: &mut Behaviour| behaviour.claim("email", json!("ada@evil.example")),
            |behaviour: &mut Behaviour| behaviour.claim("email", json!("ada@sub.example.com")),
            |behaviour: &mut Behaviour| behaviour.claim("email", json!("Ada <ada@example.com>")),
        ] {
            refused(claim, "did not name an e-mail address").await;
        }
        issuer.behave_but(|_| {});
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
        assert_eq!(told(app).await.iter().filter(|event| *event == "identity.bound").count(), 1);
        refused(|behaviour| behaviour.claim("sub", json!("another")), "does not log in here").await;
        // The account keeps its person, even with the address of another one, or with none.
        for email in [json!("bob@example.com"), json!("ada@elsewhere.example"), Value::Null] {
            issuer.behave_but(|behaviour| behaviour.claim("email", email));
            assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
            assert_eq!(last(app, 1).await[0].1, ADA);
        }
        // The removal of the person ends it. The next account with the address is that of the person who is listed then.
        app.store().remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap();
        refused(|_| {}, "does not log in here").await;
        list(app, ADA, Role::Auditor).await;
        issuer.behave_but(|behaviour| behaviour.claim("sub", json!("another")));
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
        refused(|_| {}, "does not log in here").await;
    }

    /// The id of a session is another one after each login, so an id that an attacker put into a browser is worth nothing.
    async fn a_login_by_the_issuer_replaces_the_session_of_the_browser(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        let mut ada = log_in(app, ADA).await;
        let before = ada.clone();
        assert!(is_begun(&enter(app, &issuer, &mut ada).await));
        assert_eq!(seen(app, &ada).await.0, 200);
        assert_eq!(seen(app, &before).await, (303, "/login".to_owned()));
        assert!(last(app, 1).await[0].2["replaces"].is_string());
    }

    /// The server must neither need the issuer to start, nor press it, nor believe another one in its place.
    async fn an_issuer_that_is_away_is_not_pressed(app: &mut TestApp) {
        let issuer = Issuer::start(app.clock.clone()).await;
        let metadata = "/.well-known/openid-configuration";
        issuer.behave(|behaviour| behaviour.status = Some(500));
        app.restart_with(|config| config.openid = Some(issuer.config())).await;
        list(app, ADA, Role::Auditor).await;
        assert_eq!(issuer.asked(metadata), 0, "the start asks nothing");
        let mut ada = app.person();
        for _ in 0..3 {
            let page = press(app, &mut ada).await;
            assert_refused(&page, 503, "cannot be reached");
            assert!(!page.header("retry-after").is_empty());
        }
        assert_eq!(issuer.asked(metadata), 1);
        let mut times = 1;
        let faults: [fn(&mut Behaviour); 6] = [
            |behaviour| behaviour.status = Some(302),
            |behaviour| behaviour.padding = 256 * 1024,
            |behaviour| drop(behaviour.metadata.insert("issuer".to_owned(), json!("https://evil.example"))),
            |behaviour| drop(behaviour.metadata.insert("token_endpoint".to_owned(), json!("http://login.example.com/token"))),
            |behaviour| drop(behaviour.metadata.insert("authorization_endpoint".to_owned(), json!("http://10.0.0.1/"))),
            |behaviour| drop(behaviour.metadata.insert("jwks_uri".to_owned(), Value::Null)),
        ];
        for fault in faults {
            issuer.behave_but(fault);
            app.advance(30).await;
            assert_refused(&press(app, &mut ada).await, 503, "cannot be reached");
            times += 1;
            assert_eq!(issuer.asked(metadata), times);
        }
        issuer.behave_but(|_| {});
        assert_refused(&press(app, &mut ada).await, 503, "cannot be reached");
        app.advance(30).await;
        assert!(is_begun(&enter(app, &issuer, &mut ada).await));
        // It goes away between the button and the answer.
        let back = to_issuer(app, &issuer, &mut ada).await;
        issuer.behave(|behaviour| behaviour.status = Some(503));
        assert_refused(&ada.open(&back).await, 503, "cannot be reached");
        // Its words about itself are believed for an hour.
        issuer.behave_but(|_| {});
        let asked = issuer.asked(metadata);
        app.advance(3_500).await;
        assert!(is_begun(&enter(app, &issuer, &mut ada).await) && issuer.asked(metadata) == asked);
        app.advance(200).await;
        assert!(is_begun(&enter(app, &issuer, &mut ada).await) && issuer.asked(metadata) == asked + 1);
    }

    /// A new key of the issuer works at once, and tokens with made-up keys do not make the server press it.
    async fn new_keys_are_fetched_once(app: &mut TestApp) {
        let issuer = with_issuer(app).await;
        list(app, ADA, Role::Auditor).await;
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
        assert_eq!(issuer.asked("/jwks"), 1);
        issuer.behave_but(|behaviour| (behaviour.key_id, behaviour.published_as) = (Some("new"), "new"));
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
        assert_eq!(issuer.asked("/jwks"), 2);
        issuer.behave_but(|behaviour| (behaviour.key_id, behaviour.published_as) = (Some("made-up"), "newest"));
        for _ in 0..3 {
            assert_refused(&enter(app, &issuer, &mut app.person()).await, 403, "did not pass the checks");
        }
        assert_eq!(issuer.asked("/jwks"), 2, "a moment ago it was asked");
        app.advance(30).await;
        assert_refused(&enter(app, &issuer, &mut app.person()).await, 403, "did not pass the checks");
        assert_eq!(issuer.asked("/jwks"), 3);
        issuer.behave(|behaviour| behaviour.key_id = Some("newest"));
        assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
        assert_eq!(issuer.asked("/jwks"), 3);
    }

    /// Each login makes the person a member of exactly the groups that follow the issuer and that it names. Others stay as they are.
    async fn groups_follow_the_issuer(app: &mut TestApp) {
        let issuer = Issuer::start(app.clock.clone()).await;
        let groups = [("Finance Team", "finance"), ("bosses", "finance"), ("board", "board"), ("nowhere", "missing")];
        app.restart_with(|config| config.openid = Some(issuer.config_with_groups(&groups))).await;
        for address in [ADA, "bob@example.com"] {
            list(app, address, Role::Auditor).await;
        }
        set_group(app, "finance", &["bob@example.com"]).await;
        set_group(app, "board", &[ADA]).await;
        set_group(app, "on-call", &[ADA, "bob@example.com"]).await;
        let changes = async || told(app).await.iter().filter(|event| *event == "group.changed").count();
        assert_eq!(changes().await, 3);
        let enter_as = async |teams: Value| {
            issuer.behave_but(|behaviour| behaviour.claim("teams", teams));
            let page = enter(app, &issuer, &mut app.person()).await;
            assert!(is_begun(&page), "{}", page.html);
        };
        enter_as(json!(["Finance Team", "nowhere", "unmapped", 7])).await;
        assert_eq!(members(app, "finance").await, [ADA, "bob@example.com"]);
        assert_eq!(members(app, "board").await, [""; 0], "the last member left, and the group stays");
        assert_eq!(members(app, "on-call").await, [ADA, "bob@example.com"], "it does not follow the issuer");
        assert_eq!(changes().await, 5);
        let changed: Vec<_> = last(app, 3).await.into_iter().filter(|event| event.0 == "group.changed").collect();
        assert!(changed.iter().all(|event| event.1 == "placet" && event.2.get("credential").is_none()), "{changed:?}");
        for teams in [json!(["bosses"]), json!("bosses"), json!(["bosses", "Finance Team"])] {
            enter_as(teams).await;
        }
        assert_eq!(changes().await, 5, "nothing changed");
        enter_as(json!("board")).await;
        assert_eq!((members(app, "finance").await, members(app, "board").await), (vec!["bob@example.com".to_owned()], vec![ADA.to_owned()]));
        enter_as(Value::Null).await;
        assert_eq!(members(app, "board").await, [""; 0], "a claim that is absent names no group");
        assert_eq!(changes().await, 8);
    }

    /// The configuration file of another server may name the members of a group that follows the issuer here. A login must not change
    /// that group, in either direction, and must not take it from the file.
    async fn a_group_of_the_file_does_not_follow_the_issuer(app: &mut TestApp) {
        let issuer = Issuer::start(app.clock.clone()).await;
        let config = issuer.config_with_groups(&[("finance", "finance"), ("audit", "audit"), ("board", "board")]);
        let people = [(ADA, Role::Auditor), ("bob@example.com", Role::Auditor)];
        let roster = file(&people, &[("finance", &["bob@example.com"]), ("audit", &[ADA])]);
        app.restart_with(|settings| (settings.openid, settings.roster) = (Some(config), Some(roster))).await;
        set_group(app, "board", &["bob@example.com"]).await;
        let before = app.store().groups(account::principal()).await.unwrap();
        for (teams, board) in [(json!(["finance", "board"]), vec![ADA, "bob@example.com"]), (json!(["finance"]), vec!["bob@example.com"])] {
            issuer.behave_but(|behaviour| behaviour.claim("teams", teams));
            assert!(is_begun(&enter(app, &issuer, &mut app.person()).await));
            assert_eq!(members(app, "board").await, board, "this group follows the issuer");
            assert_eq!((members(app, "finance").await, members(app, "audit").await), (vec!["bob@example.com".to_owned()], vec![ADA.to_owned()]));
        }
        assert_eq!(app.store().groups(account::principal()).await.unwrap(), before);
        assert_eq!(told(app).await.iter().filter(|event| *event == "group.changed").count(), 5, "two by the file, three of the board");
    }
}

/// With https, the issuer sends the browser back to https, and the cookie of the session belongs to the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_https_the_redirect_address_is_the_public_one() {
    let mut app = TestApp::start_with(|config| config.public_url = Some("https://placet.example/".parse().unwrap())).await;
    let issuer = with_issuer(&mut app).await;
    list(&app, ADA, Role::Auditor).await;
    let mut ada = Person::new("https://placet.example");
    let pressed = press(&app, &mut ada).await;
    let back = issuer.answer(pressed.header("location"));
    assert!(back.starts_with("https://placet.example/login/openid?"), "{back}");
    let entered = ada.open(&back.replace("https://placet.example/", &app.base)).await;
    let cookie = entered.set_cookie().unwrap();
    assert!(cookie.starts_with("__Host-session=") && cookie.contains("Secure"), "{cookie}");
    app.finish().await;
}

/// Two servers share a login: the browser may come back to another one than that at which it began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_may_end_on_another_server() {
    let mut app = TestApp::start_on(harness::app::Backend::Postgres, |_| {}).await;
    let issuer = with_issuer(&mut app).await;
    list(&app, ADA, Role::Auditor).await;
    let replica = app.replica().await;
    let mut ada = app.person();
    let back = to_issuer(&app, &issuer, &mut ada).await;
    let there = back.replace(&app.base, &replica.base);
    assert!(is_begun(&ada.open(&there).await));
    assert_refused(&ada.open(&back).await, 400, "was used already");
    assert_eq!(seen(&app, &ada).await.0, 200);
    replica.stop().await;
    app.finish().await;
}

/// A server without an issuer has no button, and its address leads nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_issuer_there_is_no_button() {
    let app = TestApp::start().await;
    let mut ada = app.person();
    let shown = ada.open(&at(&app, "login")).await;
    assert!(!shown.html.contains("/login/openid") && shown.header("content-security-policy").contains("form-action 'self';"));
    assert_refused(&ada.open(&at(&app, "login/openid?state=x")).await, 404, "does not log people in by another server");
    let pressed = ada.post(&at(&app, "login/openid"), &[("nonce", &shown.nonce())]).await;
    assert_refused(&pressed, 404, "does not log people in by another server");
    app.finish().await;
}
