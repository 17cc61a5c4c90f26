//! The addresses at which an agent may have people asked. A mail server can read some addresses as a route to another mailbox.
//! That could be the agent's own, so that the agent could answer itself.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::address::{AllowList, exact, plain};
use harness::app::TestApp;
use harness::on_each_store;
use harness::postfix::Postfix;
use harness::rows;
use serde_json::{Value, json};

use self::Verdict::{Plain, Refused, WrittenOut};

/// By which lists an address may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// By any list that allows its domain.
    Plain,
    /// Only by a list on which it is written out in full.
    WrittenOut,
    /// By no list.
    Refused,
}

/// Addresses after the examples of RFC 5321, RFC 5322, RFC 3696, RFC 6531 and the collections with which mail programs are
/// tested.
const ADDRESSES: [(&str, Verdict); 106] = [
    // Plain ones.
    ("ada@example.com", Plain),
    ("Ada.Lovelace@example.com", Plain),
    ("ADA@EXAMPLE.COM", Plain),
    ("a@example.com", Plain),
    ("0@example.com", Plain),
    ("1234567890@example.com", Plain),
    ("first-last@example.com", Plain),
    ("first_last@example.com", Plain),
    ("_@example.com", Plain),
    ("_______@example.com", Plain),
    ("+@example.com", Plain),
    ("user+mailbox@example.com", Plain),
    ("user+tag+tag@example.com", Plain),
    ("customer-department@example.com", Plain),
    ("a.b.c.d.e.f@example.com", Plain),
    ("a--b@example.com", Plain),
    ("ada-@example.com", Plain),
    ("postmaster@example.com", Plain),
    ("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl@example.com", Plain),
    ("ada@a.b.c.example", Plain),
    ("ada@example-one.example", Plain),
    ("ada@1.example", Plain),
    ("ada@localhost", Plain),
    // Domains beyond ASCII, accepted in their ASCII form (RFC 5890, RFC 6531 §3.2).
    ("ada@bücher.example", Plain),
    ("ada@xn--bcher-kva.example", Plain),
    ("ada@BÜCHER.example", Plain),
    ("ada@例え.テスト", Plain),
    ("ada@xn--r8jz45g.xn--zckzah", Plain),
    ("ada@пример.example", Plain),
    ("ada@ουτοπία.example", Plain),
    ("ada@उदाहरण.परीक्षा", Plain),
    ("ada@faß.example", Plain),
    ("ada@ｅｘａｍｐｌｅ.com", Plain),
    ("ada@example。com", Plain),
    // RFC 5322 allows further characters before the @. An address with one of three of them (' = &) is allowed only if the
    // operator writes out the whole address on a list.
    ("o'brien@example.com", WrittenOut),
    ("'@example.com", WrittenOut),
    ("bounces=ada@example.com", WrittenOut),
    ("research&development@example.com", WrittenOut),
    ("a=b&c'd@example.com", WrittenOut),
    // Routes: RFC 5321 §3.6.1 and appendix F.2, RFC 1123 §5.2.16, UUCP.
    ("bot%evil.example@example.com", Refused),
    ("evil.example!bot@example.com", Refused),
    ("bot%evil.example%other.example@example.com", Refused),
    ("other.example!evil.example!bot@example.com", Refused),
    ("evil.example!bot%other.example@example.com", Refused),
    ("@evil.example:bot@example.com", Refused),
    ("@evil.example,@other.example:bot@example.com", Refused),
    ("<@evil.example:bot@example.com>", Refused),
    ("\"bot@evil.example\"@example.com", Refused),
    ("bot@evil.example@example.com", Refused),
    ("bot@evil.example%example.com", Refused),
    ("%@example.com", Refused),
    ("!@example.com", Refused),
    ("evil.example::bot@example.com", Refused),
    // The other atoms.
    ("a/b=c@example.com", Refused),
    ("customer/department=shipping@example.com", Refused),
    ("$A12345@example.com", Refused),
    ("!def!xyz%abc@example.com", Refused),
    ("#!$%&'*+-/=?^_`{}|~@example.com", Refused),
    ("a*b@example.com", Refused),
    ("a?b@example.com", Refused),
    ("a^b@example.com", Refused),
    ("a`b@example.com", Refused),
    ("a{b}@example.com", Refused),
    ("|cat@example.com", Refused),
    ("a~b@example.com", Refused),
    ("a#b@example.com", Refused),
    // Quotes, comments, spaces, names, groups and lists.
    ("\"ada\"@example.com", Refused),
    ("\"ada lovelace\"@example.com", Refused),
    ("\"ada\\\"lovelace\"@example.com", Refused),
    ("\" \"@example.com", Refused),
    ("\"\"@example.com", Refused),
    ("Joe.\\\\Blow@example.com", Refused),
    ("ada(comment)@example.com", Refused),
    ("(comment)ada@example.com", Refused),
    ("ada@(comment)example.com", Refused),
    ("ada@example.com(comment)", Refused),
    ("Ada <ada@example.com>", Refused),
    ("<ada@example.com>", Refused),
    ("mailto:ada@example.com", Refused),
    ("people:ada@example.com;", Refused),
    ("ada@example.com,bot@evil.example", Refused),
    ("ada@example.com;bot@evil.example", Refused),
    ("ada@example.com bot@evil.example", Refused),
    (" ada@example.com", Refused),
    ("ada@example.com\r\nRCPT TO:<bot@evil.example>", Refused),
    ("ada\u{0}@example.com", Refused),
    // Dots, and a hyphen that a program could take for the start of an option, in places where they may not stand.
    (".ada@example.com", Refused),
    ("ada.@example.com", Refused),
    ("ada..lovelace@example.com", Refused),
    ("-oQueue@example.com", Refused),
    // Literals, and domains that are invalid.
    ("ada@[192.0.2.1]", Refused),
    ("ada@[IPv6:2001:db8::1]", Refused),
    ("ada@192.0.2.1", Refused),
    ("ada@example.com.", Refused),
    ("ada@.example.com", Refused),
    ("ada@-example.com", Refused),
    ("ada@exam_ple.com", Refused),
    ("ada@example..com", Refused),
    ("ada@evil.example＠example.com", Refused),
    ("ada@", Refused),
    ("ada", Refused),
    ("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm@example.com", Refused),
    // Characters beyond ASCII before the @ (RFC 6531 §3.3): another script, look-alikes, invisible ones.
    ("用户@example.com", Refused),
    ("аda@example.com", Refused),
    ("bot％evil.example@example.com", Refused),
    ("a\u{200B}da@example.com", Refused),
];

/// A list that allows every allowed address of the table: each plain one by a pattern for its domain, each other one written
/// out.
fn lists() -> AllowList {
    let domain = |address: &str| format!("*@{}", address.rsplit_once('@').unwrap().1);
    let entry = |(address, verdict): &(&str, Verdict)| match verdict {
        Plain => Some(domain(address)),
        WrittenOut => Some((*address).to_owned()),
        Refused => None,
    };
    let entries: Vec<String> = ADDRESSES.iter().filter_map(entry).collect();
    AllowList::parse(entries.iter().map(String::as_str)).unwrap()
}

fn ladder(address: &str) -> Value {
    let rung = json!({"attempt": 1, "notify_to": address});
    json!({"retry_policy": {"max_attempts": 1, "interval_seconds": 600, "escalation_ladder": [rung]}, "timeout_seconds": 600})
}

#[test]
fn each_address_is_for_its_lists() {
    for (address, verdict) in ADDRESSES {
        let read = match (plain(address), exact(address)) {
            (Some(_), Some(_)) => Plain,
            (None, Some(_)) => WrittenOut,
            (_, None) => Refused,
        };
        assert_eq!(read, verdict, "{address:?}");
        // Spaces around an entry belong to the list, not to the address.
        let is_entry = AllowList::parse([address]).is_ok();
        assert_eq!(is_entry, verdict != Refused || exact(address.trim()).is_some(), "{address:?} on a list");
        assert_eq!(lists().allows(address), verdict != Refused, "{address:?}");
        let its_domain = AllowList::parse(["*@example.com"]).unwrap();
        assert!(verdict == Plain || !its_domain.allows(address), "{address:?} by a pattern");
    }
}

on_each_store! {
    /// Whichever field an agent uses to name recipients, and whatever it writes: only addresses that stay at an allowed domain
    /// get a mail.
    async fn an_agent_names_plain_addresses_alone(app: &mut TestApp) {
        app.restart_with(|config| config.asking.notify_allow = lists()).await;
        let mut expected = Vec::new();
        for (address, verdict) in ADDRESSES {
            let intent = app.agent().active_intent().await;
            for (change, field) in [
                (json!({"notify_to": [address]}), "notify_to[0]"),
                (ladder(address), "retry_policy.escalation_ladder[0].notify_to"),
            ] {
                let asked = app.agent().suspend(intent, change).await;
                if verdict == Refused {
                    assert_eq!(asked.field_problem(), (422, "invalid", field, "email"), "{address:?}");
                    continue;
                }
                let id = asked.ok()["id"].as_str().unwrap().to_owned();
                expected.push(exact(address).unwrap());
                app.settle().await;
                app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
            }
        }
        expected.sort();
        assert_eq!(app.smtp.mailed().await, expected);
    }

    /// The queue may hold an address that an older version of the program accepted. It is checked by the present rule before a
    /// mail is sent to it.
    async fn an_address_that_breaks_the_rule_is_not_written_to(app: &mut TestApp) {
        for (routed, reason) in [("bot%evil.example@example.com", true), ("evil.example!bot@example.com", true), ("ada@example.com", false)] {
            let (intent, _) = app.agent().ask(json!({})).await;
            rows::change(app, &format!("UPDATE outbox SET recipient = '{routed}' WHERE state = 0")).await;
            app.settle().await;
            let told = app.agent().events(intent).await.pop().unwrap();
            let is_refused = told["payload"]["detail"].as_str().is_some_and(|detail| detail.contains("not a plain e-mail address"));
            assert_eq!((told["event_type"] == "delivery.failed", is_refused), (reason, reason), "{told}");
        }
        assert_eq!(app.smtp.mailed().await, ["ada@example.com"]);
    }

    /// Both spellings of a domain are one recipient, who gets one mail.
    async fn two_spellings_are_one_recipient(app: &mut TestApp) {
        app.restart_with(|config| config.asking.notify_allow = AllowList::parse(["*@bücher.example"]).unwrap()).await;
        let both = json!({"notify_to": ["Ada@bücher.example", "ada@xn--bcher-kva.example", "ada@BÜCHER.EXAMPLE"]});
        let (_, id) = app.ask(both).await;
        assert_eq!(app.smtp.mailed().await, ["Ada@xn--bcher-kva.example"]);
        assert_eq!(app.agent().suspension(&id).await["notify_to"], json!(["Ada@xn--bcher-kva.example"]));
    }
}

/// With `*@example.com` allowed, an agent once got its own question: the company's mail server read
/// `bot%evil.example@example.com` as a route and carried the mail on to evil.example.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stock_postfix_gets_only_what_stays_at_the_allowed_domain() {
    let postfix = Postfix::start().await;
    for routed in ["bot%evil.example@example.com", "evil.example!bot@example.com", "\"bot@evil.example\"@example.com"] {
        assert!(postfix.offer(routed).await, "{routed}");
        assert_eq!(postfix.elsewhere.next_mail().await.to, ["bot@evil.example"], "{routed}");
    }
    let app = TestApp::start_with(|config| {
        config.mail.as_mut().unwrap().smtp_url = postfix.url().into();
        config.asking.notify_allow = AllowList::parse(["*@example.com", "o'brien@example.com", "a=b&c'd@example.com"]).unwrap();
    })
    .await;
    let agent = app.agent();
    let mut stays = Vec::new();
    for (address, _) in ADDRESSES {
        let asked = agent.suspend(agent.active_intent().await, json!({"notify_to": [address]})).await;
        if asked.status == 200 {
            stays.push(exact(address).unwrap());
        }
    }
    app.settle().await;
    let mut home = Vec::new();
    for _ in &stays {
        home.extend(postfix.home.next_mail().await.to);
    }
    stays.sort();
    home.sort();
    assert_eq!(home, stays);
    assert!(stays.len() > 20 && stays.iter().all(|address| address.ends_with("@example.com")), "{stays:?}");
    assert!(!postfix.elsewhere.has_unread(), "{:?}", postfix.elsewhere.received().last().unwrap().to);
    app.finish().await;
}
