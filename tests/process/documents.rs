//! The examples of the documents: a person who copies one must get the documented result.
//!
//! Rust is compiled as tests of the SDK's documentation (`sdk/src/lib.rs`), and `tests/webhooks/verify` verifies signatures of
//! webhooks. The rest is here: scripts that need only a server are run against one, the others are only parsed by their shell.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use harness::api::Api;
use harness::process::{Finished, PATIENCE, Running, Site};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// How often the test looks at the list of questions.
const LOOK: Duration = Duration::from_millis(50);

/// A fenced example.
#[derive(Debug)]
struct Block {
    document: String,
    line: usize,
    language: String,
    text: String,
}

/// The examples of the README and of every document.
fn blocks() -> Vec<Block> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let documents =
        folder.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "md")).map(|name| format!("docs/{name}"));
    let mut blocks: Vec<Block> = Vec::new();
    for document in documents.chain(["README.md".to_owned()]) {
        let text = std::fs::read_to_string(root.join(&document)).unwrap();
        let mut open: Option<Block> = None;
        for (line, content) in (1..).zip(text.lines()) {
            match (&mut open, content.strip_prefix("```")) {
                (Some(_), Some("")) => blocks.extend(open.take()),
                (Some(block), _) => block.text.extend([content, "\n"]),
                (None, Some(language)) => {
                    let document = document.clone();
                    open = Some(Block { document, line, language: language.to_owned(), text: String::new() });
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{document} has an example without an end");
    }
    blocks
}

/// The one example of a document that contains these words, with its placeholders for server and key replaced.
fn example(site: &Site, document: &str, words: &str, key: &str) -> String {
    let found: Vec<Block> =
        blocks().into_iter().filter(|block| block.document == document && block.text.contains(words)).collect();
    let [block] = found.as_slice() else { panic!("{} examples of {document} have {words:?}", found.len()) };
    let base = site.base();
    let mut text = block.text.clone();
    for server in ["http://127.0.0.1:7420", "https://placet.example.com"] {
        text = text.replace(server, base.trim_end_matches('/'));
    }
    for placeholder in ["placet_agent_…", "placet_operator_…"] {
        text = text.replace(placeholder, key);
    }
    text
}

/// A server with an operator who answers.
struct Desk {
    site: Site,
    operator: Api,
    agent: String,
    _server: Running,
}

impl Desk {
    async fn open() -> Self {
        let site = Site::development();
        let server = site.serve().await;
        let (_, agent) = site.key("agent", "ci").await;
        let operator = site.api("operator", "alice").await;
        Self { site, operator, agent, _server: server }
    }

    /// The one open question, once there is one.
    async fn question(&self) -> Value {
        let look = async {
            loop {
                let page = self.operator.get("api/v1/suspensions").await.ok();
                if let Some(question) = page["suspensions"].get(0) {
                    return question.clone();
                }
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, look).await.expect("nobody asks")
    }

    /// Runs a script that asks, and answers its questions, one after the other.
    async fn hear(&self, script: Command, answers: &[&str]) -> Finished {
        let mut running = self.site.start(script);
        running.close_input();
        for answer in answers {
            let question = self.question().await;
            let intent = question["intent_id"].as_str().unwrap().parse().unwrap();
            self.operator.respond(intent, question["id"].as_str().unwrap(), *answer).await.ok();
        }
        running.finish().await
    }

    /// A program that the examples call; it prints that it was called.
    fn program(&self, name: &str) {
        let path = self.site.folder().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {name} runs\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
}

/// An example in a language that no test checks would be the first to be wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_can_be_read_by_what_it_is_for() {
    let tested = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/src/lib.rs")).unwrap();
    for Block { document, line, language, text } in blocks() {
        let place = format!("{document}, line {line}");
        match language.as_str() {
            "rust,no_run" => assert!(tested.contains(&format!("include_str!(\"../../{document}\")")), "{place} is not compiled"),
            "json" => drop(serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{place}: {error}"))),
            "toml" => drop(toml::from_str::<toml::Table>(&text).unwrap_or_else(|error| panic!("{place}: {error}"))),
            "sh" => {
                let read = Command::new("bash").args(["-n", "-c", &text]).stdin(Stdio::null()).output().await.unwrap();
                assert!(read.status.success(), "{place}: {}", String::from_utf8_lossy(&read.stderr));
            }
            "python" => {
                let read = Command::new("python3").args(["-c", "import ast, sys; ast.parse(sys.argv[1])", &text]).output();
                let read = read.await.unwrap();
                assert!(read.status.success(), "{place}: {}", String::from_utf8_lossy(&read.stderr));
            }
            // Checked by tests/webhooks/verify, and below.
            "js" => assert!(text.contains("new Webhook(secret).verify"), "{place}"),
            // A drawing.
            "" => {}
            "yaml" => assert!(["docs/shell.md", "docs/operating.md"].contains(&document.as_str()), "{place}"),
            other => panic!("{place}: no test reads {other:?}"),
        }
    }
}

/// A newcomer begins with the README, and finds no document that is not linked there.
#[test]
fn the_readme_links_every_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_linked = readme.contains(&format!("](docs/{name})")) || readme.contains(&format!("](docs/{name}#"));
        assert!(is_linked || Path::new(&name).extension().is_none_or(|ending| ending != "md"), "{name}");
    }
}

/// The first example that a newcomer copies after the server runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_questions_of_the_readme_are_asked_and_answered() {
    let desk = Desk::open().await;
    let site = &desk.site;
    let asked = desk.hear(site.script("sh", &example(site, "README.md", "placet ask", "")), &["yes"]).await;
    assert_eq!(asked.succeeded().lines().collect::<Vec<_>>(), ["yes", "deploying"], "{asked:?}");

    let http = format!("export PLACET_URL={} PLACET_API_KEY={}\n", site.base().trim_end_matches('/'), desk.agent);
    let http = desk.hear(site.script("sh", &(http + &example(site, "README.md", "call()", ""))), &["no"]).await;
    let told: Value = serde_json::from_str(http.succeeded()).unwrap();
    assert_eq!(told, json!({"resolution": "responded", "response": "no", "responded_by": "alice"}));

    let answering = site.run(site.script("sh", &example(site, "README.md", "placet answer", ""))).await;
    assert!(answering.succeeded().is_empty() || answering.stdout.contains("open"), "{answering:?}");
}

/// Scripts depend on the exact words of the examples.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scripts_of_the_shell_document_do_what_they_say() {
    let desk = Desk::open().await;
    let site = &desk.site;
    desk.program("deploy");
    desk.program("drop-index");
    let three = example(site, "docs/shell.md", "--choice eu=Europe", &desk.agent) + "echo \"$region $tag\"\n";
    let asked = desk.hear(site.script("sh", &three), &["yes", "eu", "v4.18.0"]).await;
    assert_eq!(asked.succeeded(), "yes\ndeploy runs\neu v4.18.0\n");

    let with_key = |shell: &str, text: &str, key: &str| {
        let mut script = site.script(shell, text);
        script.env("PLACET_URL", site.base()).env("PLACET_API_KEY", key);
        script
    };
    let cases = example(site, "docs/shell.md", "drop-index", "");
    assert_eq!(desk.hear(with_key("sh", &cases, &desk.agent), &["yes"]).await.succeeded(), "drop-index runs\n");
    assert_eq!(desk.hear(with_key("sh", &cases, &desk.agent), &["no"]).await.succeeded(), "a person said no\n");

    let mut asking = site.start(with_key("sh", "exec placet ask 'Open?' --timeout 10m", &desk.agent));
    asking.close_input();
    desk.question().await;
    let listed = site.run(with_key("sh", "placet answer", desk.operator.key())).await;
    let number = listed.succeeded().split_whitespace().next().unwrap().to_owned();
    let answering =
        example(site, "docs/shell.md", "placet answer 6a5bc3fb yes", desk.operator.key()).replace("6a5bc3fb", &number);
    let answered = site.run(with_key("sh", &answering, desk.operator.key())).await;
    assert!(answered.succeeded().contains("Open?"), "{answered:?}");
    assert_eq!(asking.finish().await.succeeded(), "yes\n");
}

/// A copied job must find its program, and its question must be asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_job_for_ci_installs_what_it_runs() {
    let desk = Desk::open().await;
    let job = example(&desk.site, "docs/shell.md", "runs-on", "");
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/Cargo.toml")).unwrap();
    assert!(job.contains("cargo install --locked --path .placet/server") && manifest.contains("name = \"placet\""), "{job}");
    let (_, step) = job.split_once("run: |\n").unwrap();
    let step: Vec<&str> = step.lines().take_while(|line| line.starts_with("          ")).collect();
    let mut script = desk.site.script("bash", &step.join("\n"));
    script.env("PLACET_URL", desk.site.base()).env("PLACET_API_KEY", &desk.agent);
    script.env("GITHUB_SHA", "4f2a91c0d3").env("GITHUB_ACTOR", "you").env("GITHUB_RUN_ID", "7");
    let asked = desk.hear(script, &["yes"]).await;
    assert_eq!(asked.succeeded(), "yes\n");
}

/// The server must accept the escalation ladder that docs/http.md shows as an example.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ladder_of_the_http_document_is_accepted() {
    let desk = Desk::open().await;
    let agent = Api::new(&desk.site.base(), Some(&desk.agent));
    let question: Value = serde_json::from_str(&example(&desk.site, "docs/http.md", "escalation_ladder", "")).unwrap();
    let preview = agent.post("api/v1/suspensions/preview", question.clone()).await.ok();
    let told: Vec<usize> =
        preview["schedule"].as_array().unwrap().iter().map(|row| row["recipients"].as_array().unwrap().len()).collect();
    assert_eq!((told, &preview["warnings"]), (vec![1, 1, 2], &json!([])));
    let mut shorter = question;
    shorter["timeout_seconds"] = json!(3600);
    let warnings = agent.post("api/v1/suspensions/preview", shorter).await.ok()["warnings"].to_string();
    assert!(warnings.contains("1800") && warnings.contains("3600"), "{warnings}");
}
