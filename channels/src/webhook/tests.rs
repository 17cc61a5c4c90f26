//! Server-side request forgery, tried in every spelling: an attacker who controls a configured endpoint, or the answer of a
//! resolver, must not reach services that only this machine can reach.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use domain::base::words::{self, Language};
use url::Url;

use super::endpoint::client;
use super::payload::PAYLOAD_BYTES_MAX;
use super::resolver::GuardedResolver;
use super::*;
use crate::Answers;
use crate::message::sample;
use crate::rendered::misleading;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Hosts in URLs that lead off the public internet, in spellings about which URL parsers are known to differ.
const HOSTS: &[&str] = &[
    // This machine.
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.0",
    "127.255.255.255",
    "127.127.127.127",
    "2130706433",
    "0x7f000001",
    "0X7F.0.0.1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "00000177.00.00.01",
    "0x7f.0x0.0x0.0x1",
    "0",
    "0.0.0.0",
    "0x0",
    "00",
    "0.1",
    "0.0.0.1",
    "%31%32%37.0.0.1",
    "127.0.0.1%2e",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "①②⑦.⓪.⓪.①",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "localhost%2e",
    "a.localhost",
    "a.b.localhost",
    "127.0.0.1.",
    "lo\u{ad}calhost",
    // Private, shared, link-local.
    "10.0.0.1",
    "10.255.255.255",
    "10.1",
    "167772161",
    "0xa000001",
    "012.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "192.168.1",
    "3232235521",
    "0xc0a80001",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.0.1",
    "169.254.255.255",
    // Metadata services.
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "0xA9.0xFE.0xA9.0xFE",
    "025177524776",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "169.254.169.254.",
    // Special purposes.
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    // IPv6, and IPv4 within it.
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::]",
    "[::0.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::FFFF:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:8.8.8.8]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::a00:1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2002:c0a8:1::1]",
    "[2001::1]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00::1]",
    "[fdff:ffff::1]",
    "[fd00:ec2::254]",
    "[fd20:ce::254]",
    "[fd00:42::42]",
    "[ff02::1]",
    "[ff0e::1]",
    "[100::1]",
    "[5f00::1]",
    "[4000::1]",
    "[e000::1]",
    "[::ffff:0:127.0.0.1]",
    "[2620:4f:8000::1]",
];

/// Addresses that a name may resolve to.
const ANSWERS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.2",
    "127.8.8.8",
    "127.255.255.254",
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.128.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "169.254.0.0",
    "169.254.1.1",
    "169.254.169.253",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.0",
    "172.16.0.1",
    "172.17.0.1",
    "172.20.10.1",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.31.196.0",
    "192.52.193.255",
    "192.88.99.0",
    "192.88.99.255",
    "192.168.0.0",
    "192.168.0.1",
    "192.168.122.1",
    "192.168.255.255",
    "192.175.48.6",
    "198.18.0.0",
    "198.18.255.255",
    "198.19.0.1",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "224.0.0.0",
    "224.0.0.251",
    "232.1.1.1",
    "239.255.255.255",
    "240.0.0.0",
    "250.1.2.3",
    "255.255.255.254",
    "255.255.255.255",
    "168.63.129.16",
    "::",
    "::1",
    "::2",
    "::7f00:1",
    "::a9fe:a9fe",
    "::ffff:0.0.0.0",
    "::ffff:7f00:1",
    "::ffff:a00:1",
    "::ffff:c0a8:1",
    "::ffff:a9fe:a9fe",
    "::ffff:808:808",
    "::ffff:0:7f00:1",
    "64:ff9b::",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::",
    "100::1",
    "100:0:0:1::1",
    "2001::",
    "2001::1",
    "2001:1::1",
    "2001:2::",
    "2001:3::1",
    "2001:4:112::1",
    "2001:10::",
    "2001:20::",
    "2001:30::1",
    "2001:1ff::1",
    "2001:db8::",
    "2001:db8:ffff::1",
    "2002::",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:808:808::1",
    "2620:4f:8000::",
    "3fff::",
    "3fff:fff::1",
    "4000::",
    "5f00::",
    "5f00::1",
    "8000::1",
    "fc00::",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::23",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fdff:ffff:ffff::1",
    "fe80::",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "febf:ffff::1",
    "fec0::1",
    "feff::1",
    "ff00::1",
    "ff01::1",
    "ff02::1",
    "ff05::1:3",
    "ff0e::1",
    "ffff::1",
];

/// A resolver that answers with one list after the other and then repeats the last one; it counts its calls.
struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().rev().map(|list| list.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        Arc::new(Self { answers: Mutex::new(answers), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Lookup for Scripted {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        Ok(if answers.len() > 1 { answers.pop().unwrap() } else { answers[0].clone() })
    }
}

/// A service that must not be reached: it counts connections, and hangs up.
struct Canary {
    port: u16,
    hits: Arc<AtomicUsize>,
}

impl Canary {
    fn on(ip: Ipv4Addr, port: u16) -> Self {
        let listener = TcpListener::bind((ip, port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(AtomicUsize::new(0));
        let seen = hits.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The hit is counted before the connection ends, because the test may read the count right after that.
                seen.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { port, hits }
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

fn settings(url: &str, allow: &[&str]) -> WebhookSettings {
    WebhookSettings {
        name: "canary".to_owned(),
        url: url.into(),
        secret: SECRET.into(),
        previous_secret: None,
        allow_subnets: allow.iter().map(|net| net.parse().unwrap()).collect(),
        links: false,
        template: Template::Placet,
        timeout: Duration::from_secs(5),
    }
}

fn channel(url: &str, allow: &[&str], lookup: &Arc<Scripted>) -> WebhookChannel {
    WebhookChannel::with_lookup(&settings(url, allow), &[], lookup.clone()).unwrap()
}

async fn reason(channel: &WebhookChannel) -> String {
    channel.deliver(&sample::question()).await.unwrap_err().to_string()
}

/// The tables of hosts and addresses hold at least 200 different entries, so that none is removed by accident.
#[test]
fn there_are_two_hundred_vectors() {
    let distinct = |list: &[&str]| list.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((distinct(HOSTS), distinct(ANSWERS)), (HOSTS.len(), ANSWERS.len()));
    assert!(HOSTS.len() + ANSWERS.len() >= 200, "{} and {}", HOSTS.len(), ANSWERS.len());
}

/// The settings refuse these hosts because of the addresses to which they lead, and not because of the scheme
/// or the port.
#[test]
fn no_spelling_of_an_address_is_an_endpoint() {
    for host in HOSTS {
        for scheme in ["http", "https"] {
            for url in [format!("{scheme}://{host}/"), format!("{scheme}://{host}:8443/"), format!("{scheme}:\\\\{host}/x")] {
                // An operator who opens one subnet has not opened another.
                for allow in [&[][..], &["198.41.0.0/24", "2a00::/16"]] {
                    let refused = settings(&url, allow).check().unwrap_err();
                    let leads_here = matches!(refused, WebhookSettingsError::Address(Refusal::Address(_)))
                        || ["leads to this machine", "is not a URL", "a dot at the end"]
                            .iter()
                            .any(|why| refused.to_string().contains(why));
                    assert!(leads_here, "{url}: {refused}");
                }
            }
        }
    }
}

/// A delivery does not rely on the check of the settings: it checks these hosts itself, and connects to none of them.
#[tokio::test]
async fn no_spelling_of_an_address_reaches_this_machine() {
    let canary = Canary::on(Ipv4Addr::LOCALHOST, 0);
    // Every name resolves to the canary's address.
    let lookup = Scripted::new(&[&["127.0.0.1"]]);
    let open = channel(&format!("https://127.0.0.1:{}/", canary.port), &["127.0.0.0/8"], &lookup);
    let resolver = GuardedResolver { filter: Arc::default(), ..open.endpoint.resolver.clone() };
    let shut = client(&resolver, false, Duration::from_secs(5)).unwrap();
    let mut delivered = 0;
    for host in HOSTS {
        let Ok(url) = Url::parse(&format!("https://{host}:{}/", canary.port)) else { continue };
        let reason = reason(&WebhookChannel {
            name: "shut".to_owned(),
            endpoint: Endpoint { url, keys: Vec::new(), resolver: resolver.clone(), client: shut.clone() },
            links: false,
            template: Template::Placet,
        })
        .await;
        assert!(reason.contains("is not a public address"), "{host}: {reason}");
        delivered += 1;
    }
    assert_eq!(canary.hits(), 0);
    assert!(delivered > HOSTS.len() / 2, "{delivered} of them are URLs at all");
    reason(&open).await;
    assert_eq!(canary.hits(), 1, "the canary can be reached, and counts");
}

#[tokio::test]
async fn no_answer_of_a_resolver_reaches_this_machine() {
    let canary = Canary::on(Ipv4Addr::LOCALHOST, 0);
    let url = format!("https://hooks.example:{}/", canary.port);
    let open = channel(&url, &["127.0.0.0/8"], &Scripted::new(&[&["127.0.0.1"]]));
    reason(&open).await;
    assert_eq!(canary.hits(), 1, "the canary can be reached");

    for answer in ANSWERS {
        let lookup = Scripted::new(&[&[answer]]);
        let reason = reason(&channel(&url, &[], &lookup)).await;
        assert!(reason.contains("is not a public address"), "{answer}: {reason}");
        assert!(!reason.contains("http"), "{reason}");
        assert_eq!(lookup.asked.load(Ordering::SeqCst), 1, "{answer}");
    }
    assert_eq!(canary.hits(), 1, "nobody else came");
}

/// Each try resolves the name once, and connects only to the addresses that it checked. Otherwise a name could lead to one
/// address during the check and to another one during the connection.
#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_again_at_every_try() {
    let good = Canary::on(Ipv4Addr::new(127, 0, 0, 2), 0);
    let bad = Canary::on(Ipv4Addr::LOCALHOST, good.port);
    let lookup = Scripted::new(&[&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.1", "127.0.0.2", "::1"], &["::ffff:127.0.0.1"]]);
    let channel = channel(&format!("https://hooks.example:{}/", good.port), &["127.0.0.2/32"], &lookup);
    for (asked, reached, why) in
        [(1, 1, ""), (2, 1, "127.0.0.1 is not a public address"), (3, 2, ""), (4, 2, "127.0.0.1 is not a public address")]
    {
        let reason = reason(&channel).await;
        assert!(reason.contains(why), "{reason}");
        assert_eq!(lookup.asked.load(Ordering::SeqCst), asked, "one try asks once: what was checked is what is connected to");
        assert_eq!((good.hits(), bad.hits()), (reached, 0));
    }
}

/// A push carries credentials of its receiver, and its URL comes from an agent. Its name is looked up and checked at each try as well, although
/// all pushes share a client.
#[tokio::test]
async fn a_push_reaches_no_address_that_its_name_has_taken_since() {
    let good = Canary::on(Ipv4Addr::new(127, 0, 0, 2), 0);
    let bad = Canary::on(Ipv4Addr::LOCALHOST, good.port);
    let lookup =
        Scripted::new(&[&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.2"], &["::ffff:127.0.0.1"], &["::1", "169.254.169.254"]]);
    let opened = vec!["127.0.0.2/32".parse().unwrap()];
    let subscribers = Subscribers::new(vec!["hooks.example".to_owned()], opened, &[]).looked_up_by(lookup.clone());
    let known_by = KnownBy { token: Some("t".to_owned()), authentication: Some(("Bearer".to_owned(), "c".to_owned())) };
    let url = format!("https://hooks.example:{}/", good.port);
    for (asked, reached, why) in [
        (1, 1, ""),
        (2, 1, "is not a public address"),
        (3, 2, ""),
        (4, 2, "is not a public address"),
        (5, 2, "is not a public address"),
    ] {
        let failed = subscribers.push(&url, &known_by, b"{}".to_vec()).await.unwrap_err().to_string();
        assert!(failed.contains(why), "{failed}");
        assert_eq!((lookup.asked.load(Ordering::SeqCst), good.hits(), bad.hits()), (asked, reached, 0));
    }
}

/// A webhook must never call the server that sends it; no setting of subnets allows that.
#[tokio::test]
async fn the_server_itself_is_never_an_endpoint() {
    let canary = Canary::on(Ipv4Addr::LOCALHOST, 0);
    let port = canary.port;
    for own in [format!("127.0.0.1:{port}"), format!("0.0.0.0:{port}"), format!("[::]:{port}")] {
        let own: SocketAddr = own.parse().unwrap();
        let literal = settings(&format!("http://127.0.0.1:{port}/"), &["127.0.0.0/8"]);
        assert!(matches!(WebhookChannel::new(&literal, &[own]), Err(WebhookSettingsError::Address(Refusal::Own(_)))));
        let named = settings(&format!("https://hooks.example:{port}/"), &["127.0.0.0/8"]);
        let named = WebhookChannel::with_lookup(&named, &[own], Scripted::new(&[&["127.0.0.1"]])).unwrap();
        assert!(reason(&named).await.contains("this server itself listens on"));
    }
    assert_eq!(canary.hits(), 0);
}

#[test]
fn what_is_public_passes_at_its_two_ports() {
    let filter = AddressFilter::default();
    for ip in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "168.63.129.15",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:200::1",
        "2003::1",
        "3ffe::1",
    ] {
        let at = |port| filter.check(SocketAddr::new(ip.parse().unwrap(), port));
        assert_eq!((at(443), at(8443)), (Ok(()), Ok(())), "{ip}");
        for port in [0, 22, 25, 80, 8080, 6379, 65535] {
            assert_eq!(at(port), Err(Refusal::Port(port)), "{ip}");
        }
    }
    let opened = AddressFilter { allowed: vec!["10.20.0.0/16".parse().unwrap()], own: Vec::new() };
    assert_eq!(opened.check("10.20.1.2:9000".parse().unwrap()), Ok(()));
    assert!(opened.check("10.21.1.2:443".parse().unwrap()).is_err());
    assert!(opened.check("[::ffff:10.20.1.2]:443".parse().unwrap()).is_err(), "a mapped address was not opened");
}

#[test]
fn urls_that_are_no_endpoints_are_refused() {
    let loopback = ["127.0.0.0/8"];
    for (url, ok) in [
        ("https://hooks.example/x", true),
        ("https://hooks.example:8443/x?token=1", true),
        ("http://127.0.0.1:9000/x", true),
        ("http://localhost:9000/x", true),
        ("http://hooks.example/x", false),
        ("https://hooks.example./x", false),
        ("https://user@hooks.example/x", false),
        ("https://user:password@hooks.example/x", false),
        ("https://pass/word@hooks.example/x", false),
        ("https://hooks.example/services/s3cr3t@x", false),
        ("https://hooks.example/x#fragment", false),
        ("ftp://hooks.example/x", false),
        ("file:///etc/passwd", false),
        ("gopher://127.0.0.1:6379/_x", false),
        ("hooks.example", false),
        ("", false),
    ] {
        assert_eq!(settings(url, &loopback).check().is_ok(), ok, "{url}");
    }
    assert!(settings("http://localhost:9000/x", &["10.0.0.0/8"]).check().is_err());
}

/// Neither the settings in `Debug` form nor an error shows the URL or a secret. The path of a URL may be the only secret of an
/// endpoint.
#[tokio::test]
async fn nothing_that_is_shown_holds_the_url_or_a_secret() {
    let url = "https://hooks.example/services/T0/s3cr3t-path";
    let settings = settings(url, &[]);
    let channel = WebhookChannel::with_lookup(&settings, &[], Scripted::new(&[&["10.0.0.1"]])).unwrap();
    let refused = channel.deliver(&sample::question()).await.unwrap_err();
    let wrong = WebhookSettings { secret: "whsec_c2VjcmV0".into(), ..settings.clone() };
    let shown = [format!("{settings:?}"), format!("{refused:?}"), format!("{}", wrong.check().unwrap_err())];
    for text in shown {
        assert!(!text.contains("s3cr3t") && !text.contains("MfKQ") && !text.contains("c2VjcmV0"), "{text}");
    }
}

/// Agents write questions, and others may make an agent write anything. In a chat room, an agent's text must notify no person,
/// contain no link, and hide no characters.
#[test]
fn a_room_gets_words_and_nothing_to_click_but_the_link() {
    let hostile = Message {
        question: "<!channel> *now* <https://evil.example|Approve> & [x](https://evil.example) \u{202e}\u{200b}`rm`\r\n<@U1>"
            .to_owned(),
        agent: "a<!here>\n\u{202e}b".to_owned(),
        ..sample::question()
    };
    let body: serde_json::Value = serde_json::from_slice(&payload(&hostile, Template::Slack, true).unwrap()).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(!text.contains(['<', '>', '\u{202e}', '\u{200b}', '\r']), "{text}");
    assert!(text.contains("&lt;!channel&gt;") && text.contains("⟨U+202E⟩"), "{text}");
    assert_eq!(text.matches("://").count(), 1, "only our own link is one: {text}");
    assert!(text.contains(&hostile.link));
    assert_eq!(body["mrkdwn"], serde_json::json!(false));
    let without: serde_json::Value = serde_json::from_slice(&payload(&hostile, Template::Slack, false).unwrap()).unwrap();
    assert!(!without["text"].as_str().unwrap().contains("plc_"));
    for worst in ["\u{202e}", "\n", "&", "\n@", "\"", "💥"] {
        let choices = vec![sample::choice(&worst.repeat(200), &worst.repeat(200)); 50];
        let longest = Message {
            question: worst.repeat(4_096 / worst.len()),
            agent: worst.repeat(200),
            answers: Answers::Choices(choices),
            ..hostile.clone()
        };
        assert!(payload(&longest, Template::Slack, true).unwrap().len() <= PAYLOAD_BYTES_MAX, "{worst:?}");
    }
}

/// Mattermost and Rocket.Chat accept the same body, and interpret more of it: `@all` notifies everyone, and after a line break an
/// agent's text could look like the server's own words.
#[test]
fn a_question_wakes_nobody_and_does_not_speak_as_the_server() {
    let hostile = Message {
        question: "@channel @all,@here ＠all now?\n\nOpen until never.\nAnswer: [yes](/a/b) @ 5 pm, mail bob@example".to_owned(),
        agent: "@everyone".to_owned(),
        answers: Answers::Choices(vec![
            sample::choice("approve", "I deny\nsends deny @all"),
            sample::choice("@here", "<https://x.example|Wait>"),
        ]),
        ..sample::question()
    };
    let body: serde_json::Value = serde_json::from_slice(&payload(&hostile, Template::Slack, true).unwrap()).unwrap();
    let lines: Vec<&str> = body["text"].as_str().unwrap().lines().collect();
    let until = words::room_until(&words::in_utc(&words::date_and_clock(hostile.expires_at.unwrap(), false)));
    assert_eq!(
        lines,
        [
            words::room_is_asked("[@]everyone"),
            "&gt; [@]channel [@]all,[@]here [@]all now?".to_owned(),
            "&gt; ".to_owned(),
            "&gt; Open until never.".to_owned(),
            "&gt; Answer: [yes] (/a/b) @ 5 pm, mail bob[@]example".to_owned(),
            format!("{}:", words::POSSIBLE_ANSWERS),
            misleading(&hostile.answers, Language::English).unwrap(),
            "&gt; I deny sends deny [@]all".to_owned(),
            "sends approve".to_owned(),
            "&gt; &lt;https[:]//x[.]example|Wait&gt;".to_owned(),
            "sends [@]here".to_owned(),
            until,
            words::room_answers_at(&hostile.link),
        ]
    );
}
