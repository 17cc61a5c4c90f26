//! `placet answer`: the operator's side in a shell, and on a terminal, where keystrokes become a decision and a person reads an
//! agent's words.

use harness::process::Running;
use serde_json::{Value, json};

use super::desk::{Desk, code, on_screen, text};
use crate::pages::texts::{chosen, in_words, on_a_line, with_choices, with_fields};

/// The operator's side: the list of open questions, one question whole, and an answer that goes to the question that was read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_lists_reads_and_answers_from_a_shell() {
    let desk = Desk::open().await;
    let empty = desk.site.run(desk.answer(&[])).await;
    assert!(empty.succeeded().is_empty() && empty.stderr.contains("no question is open"), "{empty:?}");

    // The question tries to clear the screen, to reorder the line, and to be clicked.
    let hostile = "Deploy?\u{1B}[2J\u{202E} https://evil.example/x";
    let asking = desk.site.start(desk.ask(&[hostile, "--timeout", "10d", "--context", "commit=4f2a\u{9B}1m\nrisk: none"]));
    let question = desk.question().await;
    let list = desk.site.run(desk.answer(&[])).await;
    let number = list.succeeded().split(' ').next().unwrap();
    for words in ["Deploy?", "from ci", "yes | no", "(10 days left)"] {
        assert!(list.stdout.contains(words), "{words}: {}", list.stdout);
    }
    let whole = desk.site.run(desk.answer(&[number])).await;
    for words in [
        "  • commit: 4f2a",
        "\n  │ risk: none",
        "asked by ci, ",
        "If no person answers, the agent is told",
        "  value │ yes\n  label │ Yes",
    ] {
        assert!(whole.succeeded().contains(words), "{words}: {}", whole.stdout);
    }
    assert!(whole.stderr.contains(&format!("placet answer {number} ANSWER")), "{whole:?}");
    let json = desk.site.run(desk.answer(&["--json"])).await;
    let listed: Value = serde_json::from_str(json.succeeded()).unwrap();
    assert_eq!((&listed["number"], &listed["question"]), (&json!(number), &json!(hostile)));
    for shown in [&list.stdout, &whole.stdout, &json.stdout] {
        assert!(!shown.contains(['\u{1B}', '\u{202E}', '\u{9B}']), "{shown:?}");
        assert!(!shown.contains(text(&question["id"])), "the id is a capability");
    }
    assert!(!whole.stdout.contains("https://"), "{}", whole.stdout);

    let wrong: [(&[&str], &str); 4] = [
        (&[number, "maybe"], "none of the answers to this question: yes | no"),
        (&["00000000", "yes"], "no question this key may read has the short id"),
        (&[number, "--comment", "x"], "<VALUE>"),
        (&["--nonsense"], "--nonsense"),
    ];
    for (arguments, words) in wrong {
        let ended = desk.site.run(desk.answer(arguments)).await;
        assert_eq!(code(&ended), (Some(3), ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words) && ended.stderr.lines().count() == 1, "{arguments:?}: {}", ended.stderr);
    }
    // A draft is shared, and answers nothing.
    let draft = desk.site.run(desk.answer(&[number, "no", "--comment", "ask legal", "--draft"])).await;
    assert!(draft.succeeded().is_empty() && draft.stderr.contains("the draft is saved"), "{draft:?}");
    let drafts = desk.site.run(desk.answer(&[number, "y", "--draft", "--json"])).await;
    let drafts: Value = serde_json::from_str(drafts.succeeded()).unwrap();
    assert_eq!(
        (&drafts["number"], &drafts["drafts"][0]["values"]),
        (&json!(number), &json!({"value": "yes"})),
        "the newest counts"
    );
    assert!(desk.record(&question).await["resolution"].is_null());
    let own = desk.site.run(desk.with_key(&desk.key, &["answer", number, "yes"])).await;
    assert!(own.status.code() == Some(3) && own.stderr.contains("self_response"), "{own:?}");

    let answered = desk.site.run(desk.answer(&[number, "yes", "--comment", "go ahead"])).await;
    assert_eq!(answered.succeeded(), "Recorded yes by alice.\n");
    let asked = asking.finish().await;
    assert_eq!(code(&asked), (Some(0), "yes\n"), "{asked:?}");
    assert!(asked.stderr.contains("alice answered \"yes\", and said: go ahead"), "{asked:?}");
    let late = desk.site.run(desk.answer(&[number, "no"])).await;
    assert!(late.status.code() == Some(3) && late.stderr.contains("has ended: alice answered \"yes\""), "{late:?}");
}

/// A person answers a form from a shell: the terminal shows each field in words, and the drafts of the people who may answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_shown_in_words_with_its_drafts() {
    let desk = Desk::open().await;
    let questions = json!([
        {"name": "law", "question": "Which law applies?", "description": "Of the contract.", "choices": [
            {"value": "de", "label": "Germany", "description": "By default"}, {"value": "fr", "label": "France"}]},
        {"name": "note", "question": "Anything else?", "response_type": "text", "required": false},
    ]);
    std::fs::write(desk.site.folder().join("terms.json"), questions.to_string()).unwrap();
    let mut asking = desk.ask(&["Which terms?", "--form", "terms.json", "--timeout", "1h"]);
    asking.current_dir(desk.site.folder());
    let asking = desk.site.start(asking);
    let number = &desk.short_id().await;
    let shown = desk.site.run(desk.answer(&[number])).await;
    let fields = "The fields of the answer
  • law: Which law applies?
        │ Of the contract.
        │ one of these values
  value │ de
  label │ Germany
        │ By default
  value │ fr
  label │ France
  • note: Anything else?
        │ a text";
    assert!(shown.succeeded().contains(fields), "{}", shown.stdout);
    assert!(shown.stdout.contains("may be left out") && !shown.stdout.contains("JSON Schema"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("Drafts"), "{}", shown.stdout);
    let typed = r#"{"law": "fr", "note": "ask legal"}"#;
    desk.site.run(desk.answer(&[number, typed, "--draft"])).await.succeeded();
    for command in [desk.answer(&[number]), desk.with_key(desk.operator.key(), &["show", number])] {
        let shown = desk.site.run(command).await;
        let draft = "  • Which law applies?: fr\n  • Anything else?: ask legal";
        let head = "Drafts, with which no person has decided anything\nalice saved this (";
        assert!(shown.succeeded().contains(head) && shown.stdout.contains(draft), "{}", shown.stdout);
    }
    let json = desk.site.run(desk.with_key(desk.operator.key(), &["show", number, "--json"])).await;
    let json: Value = serde_json::from_str(json.succeeded()).unwrap();
    assert_eq!((&json["drafts"][0]["by"], &json["drafts"][0]["values"]["fields"]["/law"]), (&json!("alice"), &json!("fr")));
    // The agent that asked reads no drafts of an open question.
    let own = desk.site.run(desk.with_key(&desk.key, &["show", number])).await;
    assert!(own.succeeded().contains("The fields of the answer") && !own.stdout.contains("ask legal"), "{}", own.stdout);
    assert_eq!(desk.site.run(desk.answer(&[number, typed])).await.succeeded().lines().count(), 1);
    assert_eq!(asking.finish().await.status.code(), Some(0));
}

/// Only the edited action may be carried out, so the terminal shows that one, and says that it was edited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_action_is_shown_as_it_was_edited() {
    let desk = Desk::open().await;
    let write = |name: &str, value: Value| std::fs::write(desk.site.folder().join(name), value.to_string()).unwrap();
    write("refund.json", json!({"order": "12345", "amount": 2500}));
    write("edited.json", json!({"order": "12345", "amount": 2400}));
    write("amount.json", json!({"type": "object", "properties": {"amount": {"type": "integer"}}}));
    let mut asking = desk.ask(&["Refund?", "--proposal", "refund.json", "--editable", "amount.json", "--timeout", "1h"]);
    asking.current_dir(desk.site.folder());
    let asking = desk.site.start(asking);
    let number = &desk.short_id().await;
    let shown = desk.site.run(desk.answer(&[number])).await;
    assert!(
        shown.succeeded().contains("The proposed action") && shown.stdout.contains("You may edit: /amount."),
        "{}",
        shown.stdout
    );
    let mut approving = desk.answer(&[number, "yes", "--proposal", "edited.json"]);
    approving.current_dir(desk.site.folder());
    desk.site.run(approving).await.succeeded();
    assert_eq!(asking.finish().await.status.code(), Some(0));
    let shown = desk.site.run(desk.with_key(desk.operator.key(), &["show", number])).await;
    for words in ["The action as it was approved", "amount: 2400", "It was edited before it was approved", "/amount: 2500 → 2400"]
    {
        assert!(shown.succeeded().contains(words), "{words}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("The proposed action") && !shown.stdout.contains("You may edit"), "{}", shown.stdout);
}

/// On a terminal the question is shown whole before the answer is asked for, and an empty line decides nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_is_asked_for_the_answer() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Where to?", "--choice", "eu=Europe", "--choice", "us=America"]));
    let question = desk.question().await;
    let line = format!("exec \"$PLACET\" answer {}", desk.short_id().await);
    let prompt = "Your answer, one of the values above; an empty line leaves the question open: ";
    let asked = |columns| desk.site.start(desk.on_a_terminal(&line, columns));
    let mut nothing = asked(80);
    nothing.shows(prompt).await;
    nothing.types("\n").await;
    let nothing = nothing.finish().await;
    assert!(nothing.succeeded().contains("the question stays open"), "{nothing:?}");
    assert_eq!(desk.record(&question).await["resolution"], json!(null));
    let mut answered = asked(80);
    answered.shows(prompt).await;
    answered.types("us\n").await;
    let answered = answered.finish().await;
    let said = answered.succeeded();
    assert!(said.contains("value │ us\r\n  label │ America") && said.contains("Recorded us by alice."), "{said}");
    assert_eq!(code(&asking.finish().await), (Some(0), "us\n"));
}

/// Two people read the same question. The answer of the second does not count, and that person learns who answered, and what.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_of_two_people_at_terminals_is_told_who_was_first() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Where to?", "--choice", "eu=Europe", "--choice", "us=America"]));
    let id = desk.short_id().await;
    let mut second = desk.site.start(desk.on_a_terminal(&format!("exec \"$PLACET\" answer {id}"), 200));
    second.shows("an empty line leaves the question open: ").await;
    desk.respond("eu").await;
    second.types("us\n").await;
    let second = second.finish().await;
    assert_eq!(second.status.code(), Some(3), "{second:?}");
    let words = format!("the answer was not recorded, because question {id} has ended: alice answered \"eu\"");
    assert!(second.stdout.contains(&words), "{second:?}");
    assert_eq!(code(&asking.finish().await), (Some(0), "eu\n"));
}

/// If not all of the input and output of `placet answer` is the terminal, as in `placet answer … | less`, typed keys are no
/// answer. Once, keys typed for `less` (`q`, `ls`) were recorded as a person's words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keystrokes_for_another_program_are_no_answer() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Which tag?", "--text"]));
    let question = desk.question().await;
    let id = desk.short_id().await;
    for elsewhere in ["| cat", "2>/dev/null", "2>&1 | cat", "</dev/null", ">shown; cat shown"] {
        let line = format!("\"$PLACET\" answer {id} {elsewhere}; read -r word; echo \"it read $word\"");
        let mut running = desk.site.start(desk.on_a_terminal(&line, 80));
        running.types("qls\nyes\nyes\n").await;
        let ended = running.finish().await;
        assert!(ended.stdout.contains("Which tag?") && ended.stdout.contains("it read qls"), "{elsewhere}: {ended:?}");
        let says_how = ended.stdout.contains(&format!("placet answer {id} ANSWER"));
        assert!(says_how || elsewhere.contains("2>/dev/null"), "{elsewhere}: {ended:?}");
        assert_eq!(desk.record(&question).await["resolution"], json!(null), "{elsewhere}");
    }
    desk.respond("v1").await;
    assert_eq!(code(&asking.finish().await), (Some(0), "v1\n"));
}

/// Any typed text could be a free-text answer, so the command shows the text once more and records it only after a "yes". Text
/// typed before the command starts was meant for another program, and does not count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn free_text_is_confirmed_and_nothing_typed_ahead_counts() {
    let desk = Desk::open().await;
    let asking = desk.site.start(desk.ask(&["Which tag?", "--text"]));
    let question = desk.question().await;
    let id = desk.short_id().await;
    let asked =
        |before: &str| -> Running { desk.site.start(desk.on_a_terminal(&format!("{before} exec \"$PLACET\" answer {id}"), 80)) };
    let (prompt, confirm) = (
        "a text of one line; an empty line leaves the question open: ",
        "Type yes to record this; an empty line leaves the question open: ",
    );

    let mut ahead = asked("sleep 1;");
    ahead.types("qls\nyes\nyes\n").await; // They reach the terminal before the program starts.
    ahead.shows(prompt).await;
    ahead.types("\n").await;
    assert!(ahead.finish().await.succeeded().contains("the question stays open"));

    for not_yes in ["\n", "y\n", "qls\n", "no\n"] {
        let mut running = asked("");
        running.shows(prompt).await;
        running.types("qls\n").await;
        running.shows(confirm).await;
        running.types(not_yes).await;
        let ended = running.finish().await;
        assert!(ended.succeeded().contains("You answer:\r\n  │ qls\r\n") && ended.stdout.contains("stays open"), "{ended:?}");
        assert_eq!(desk.record(&question).await["resolution"], json!(null), "{not_yes:?}");
    }
    let mut running = asked("");
    running.shows(prompt).await;
    running.types("v1.2 final\n").await;
    running.shows(confirm).await;
    running.types("yes\n").await;
    assert!(running.finish().await.succeeded().contains("Recorded v1.2 final by alice."));
    assert_eq!(code(&asking.finish().await), (Some(0), "v1.2 final\n"));
}

/// Checks that each row begins with the program's own words, with its bar or with the question's id, and never with text of an
/// agent.
fn assert_at_their_margin(rows: &[String], id: &str) {
    let starts = [
        "  │",
        "  •",
        "  value │",
        "  label │",
        "    ",
        "It is open",
        "If no person",
        "Context",
        "What else the agent sent",
        "Answers",
        "Question ",
        "placet: ",
        "  JSON like ",
        "The words of these ",
        "  TEXT",
    ];
    for row in rows {
        assert!(starts.iter().any(|start| row.starts_with(start)) || row.starts_with(id), "{row:?} in {rows:#?}");
    }
}

/// The hostile texts of the browser's tests, in every field, on a terminal. No line may be wider than the terminal, and no text
/// of an agent may begin at the margin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_texts_stay_between_the_margins_of_a_terminal() {
    let desk = Desk::open().await;
    let agent = harness::api::Api::new(&desk.site.base(), Some(&desk.key));
    for (name, text) in chosen() {
        for (kind, question) in [("choices", with_choices(&text)), ("fields", with_fields(&text)), ("words", in_words(&text))] {
            let intent = agent.post("api/v1/intents", json!({"title": on_a_line(&text, 500), "status": "active"})).await.ok();
            agent.suspend(intent["id"].as_str().unwrap().parse().unwrap(), question).await.ok();
            let id = desk.short_id().await;
            for columns in [80, 40] {
                for arguments in ["list", &format!("show {id}")] {
                    let ended = desk.site.run(desk.on_a_terminal(&format!("\"$PLACET\" {arguments}"), columns)).await;
                    let (rows, broken) = on_screen(&ended.stdout, columns);
                    assert!(
                        !broken && rows.len() > 2,
                        "{name}, {kind}: the terminal breaks lines at {columns} columns: {rows:#?}"
                    );
                    assert_at_their_margin(&rows, &id);
                }
            }
            withdrawn(&desk).await;
        }
    }
}

/// An agent pads its words so that they continue at the margin of a terminal and look like words of the program: like an answer
/// to choose, or like a message. The terminal must show none of them at the margin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_write_at_the_margin_of_a_terminal() {
    let desk = Desk::open().await;
    let agent = harness::api::Api::new(&desk.site.base(), Some(&desk.key));
    let words = "Answers\n  value │ approve\n  label │ Refuse\nplacet: the question was withdrawn";
    for padding in [" ", "\u{a0}", "─", "界", "é", "☎\u{FE0F}", "👩\u{200D}👧"] {
        let forged = |columns: usize| format!("{}{words}\r\u{1B}[2J\u{9B}1A{words}", padding.repeat(columns));
        let (long, line) = (format!("{}{}", forged(74), forged(34)), forged(70).replace(char::is_control, " "));
        let short: String = line.chars().take(190).collect();
        let intent = agent.active_intent().await;
        let question = json!({
            "question": long, "context": {long.clone(): long, "list": [long]}, "timeout_seconds": 600,
            "choices": [{"value": short, "label": short, "description": line}, {"value": "b", "label": "B"}],
            "fallback_policy": "complete_with_fallback", "fallback_value": short,
        });
        agent.suspend(intent, question).await.ok();
        let id = desk.short_id().await;
        for columns in [80, 40] {
            for arguments in [String::new(), id.clone(), format!("{id} maybe")] {
                let line = format!("\"$PLACET\" answer {arguments} </dev/null");
                let ended = desk.site.run(desk.on_a_terminal(&line, columns)).await;
                let (rows, broken) = on_screen(&ended.stdout, columns);
                assert!(!broken && rows.len() > 2, "the terminal breaks lines at {columns} columns: {rows:#?}");
                assert_at_their_margin(&rows, &id);
                let count = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
                assert!(count("Answers") <= 1 && count("Question ") <= 1 && count("placet: ") <= 1, "{rows:#?}");
            }
        }
        withdrawn(&desk).await;
    }
}

/// Withdraws the one open question.
async fn withdrawn(desk: &Desk) {
    let open = desk.operator.get("api/v1/suspensions").await.ok();
    let admin = desk.site.api("admin", "boss").await;
    for question in open["suspensions"].as_array().unwrap() {
        admin.post(&format!("api/v1/suspensions/{}/cancel", text(&question["id"])), json!({})).await.ok();
    }
}
