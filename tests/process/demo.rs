//! `placet demo`: the first thing a newcomer runs, anywhere, before reading anything.

use std::path::Path;
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{Running, Site};
use tempfile::TempDir;

/// The longest an unattended demo takes.
const UNATTENDED_WITHIN: Duration = Duration::from_secs(50);

/// A demo in a folder of its own, with a temporary folder of its own.
struct Demo {
    site: Site,
    folder: TempDir,
    temporary: TempDir,
}

impl Demo {
    fn new() -> Self {
        Self { site: Site::development(), folder: TempDir::new().unwrap(), temporary: TempDir::new().unwrap() }
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.site.command([&["demo"], arguments].concat());
        for name in ["PLACET_LISTEN", "PLACET_DATABASE_URL", "PLACET_OPERATORS", "PLACET_NOTIFY_ALLOW"] {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path()).env("TMPDIR", self.temporary.path());
        self.site.start(command)
    }

    fn leaves_nothing_behind(&self) {
        for folder in [self.folder.path(), self.temporary.path()] {
            assert_eq!(entries(folder), Vec::<String>::new());
        }
        assert!(!self.site.database().exists());
    }
}

fn entries(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The link in the line that the demo prints, and its base.
async fn link(demo: &mut Running) -> (String, String) {
    let link = demo.line_with("/a/").await.trim().to_owned();
    let base = link.split_once("a/").unwrap().0.to_owned();
    (link, base)
}

/// The types of the events in the log that was printed.
fn printed_events(stdout: &str) -> Vec<&str> {
    let log = stdout.split_once("The log:").unwrap().1;
    log.lines().filter_map(|line| line.split_whitespace().nth(2)).filter(|word| word.contains(['_', '.'])).collect()
}

/// One command shows all steps. If it needs a setting, a folder or a second try, the newcomer is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unattended_demo_shows_the_whole_loop_and_leaves_nothing_behind() {
    for (value, started) in ["approve", "deny"].map(|value| (value, Instant::now())) {
        let demo = Demo::new();
        let ended = demo.start(&["--answer", value]).finish().await;
        let stdout = ended.succeeded();
        assert!(started.elapsed() < UNATTENDED_WITHIN, "{:?}", started.elapsed());
        assert!(stdout.contains(&format!("The agent received {value:?}, decided by you@example.com.")), "{stdout}");
        let events = printed_events(stdout);
        assert_eq!(events[..3], ["intent_created", "intent.suspended", "status_changed"], "{stdout}");
        let mut rest = events[3..].to_vec();
        rest.sort_unstable();
        // The report of the mail may be recorded before or after the answer.
        assert_eq!(rest, ["delivery.sent", "intent.resumed", "status_changed"], "{stdout}");
        assert!(stdout.contains("The chain of 6 events verifies."), "{stdout}");
        assert_eq!(ended.stderr, "", "a demo that goes well has nothing to log");
        demo.leaves_nothing_behind();
    }
}

/// Starts an attended demo and answers on its page, up to the redirect; returns the browser and the page's path.
async fn answered(demo: &Demo) -> (Running, Api, String) {
    let mut running = demo.start(&[]);
    let (link, base) = link(&mut running).await;
    running.line_with("Open it in a browser").await;
    let browser = Api::new(&base, None);
    let path = link.strip_prefix(&base).unwrap();
    let page = browser.get(path).await;
    assert_eq!(page.status, 200);
    let cookie = page.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let nonce = page.text.split_once("name=\"nonce\" value=\"").unwrap().1.split('"').next().unwrap();
    let form = format!("nonce={nonce}&value=escalate");
    let post = browser.request("POST", path).header("cookie", cookie).body(form);
    let post = post.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(browser.send(post).await.status, 303);
    let path = path.to_owned();
    (running, browser, path)
}

/// With a person, the demo waits for a browser. All work is done when the answer is recorded, but the person has seen nothing
/// yet: the browser still has to load the next page, and must not find that the server is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attended_demo_ends_when_its_last_page_was_shown() {
    let demo = Demo::new();
    let (mut running, browser, path) = answered(&demo).await;
    running.line_with("The chain of 6 events verifies.").await;
    running.line_with("Waiting for your browser to load the last page, 30 seconds at most").await;
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Your answer was recorded"), "{}", page.text);
    let (shown, ended) = (Instant::now(), running.finish().await);
    assert!(shown.elapsed() < Duration::from_secs(10), "{:?}", shown.elapsed());
    assert!(ended.succeeded().contains("The agent received \"escalate\", decided by you@example.com."), "{ended:?}");
    demo.leaves_nothing_behind();
}

/// A browser that was closed after the answer loads nothing more: the demo still ends, and with success.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attended_demo_does_not_wait_for_ever_for_its_last_page() {
    let demo = Demo::new();
    let (mut running, ..) = answered(&demo).await;
    running.line_with("Waiting for your browser").await;
    let waits = Instant::now();
    running.finish().await.succeeded();
    let waited = waits.elapsed();
    assert!((Duration::from_secs(25)..Duration::from_secs(38)).contains(&waited), "{waited:?}");
    demo.leaves_nothing_behind();

    let demo = Demo::new();
    let (mut running, ..) = answered(&demo).await;
    running.line_with("Waiting for your browser").await;
    running.signal("INT").await; // Nothing is lost: the answer has been shown.
    let (stopped, ended) = (Instant::now(), running.finish().await);
    ended.succeeded();
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    demo.leaves_nothing_behind();
}

/// People end a demo with Ctrl-C when they have seen enough; a scratch database must not stay behind unknown to them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_the_demo_without_leaving_anything_behind() {
    for signal in ["INT", "TERM"] {
        let demo = Demo::new();
        let mut running = demo.start(&[]);
        link(&mut running).await;
        running.signal(signal).await;
        running.finish().await.refused(&["stopped before there was an answer"]);
        demo.leaves_nothing_behind();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demo_answers_only_with_what_is_offered() {
    let demo = Demo::new();
    let ended = demo.start(&["--answer", "maybe"]).finish().await;
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(ended.stderr.contains("approve, deny, escalate"), "{ended:?}");
    demo.leaves_nothing_behind();
}
