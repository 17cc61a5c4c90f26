//! People and groups from a real configuration file: how the program follows it, and what it says about a wrong one.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use harness::process::Site;
use serde_json::{Value, json};
use tokio::process::Command;

/// The signal by which `abort` ends a process.
const SIGABRT: i32 = 6;

const FILE: &str = "[[people]]\naddress = \"Ada@example.com\"\nrole = \"admin\"\n\n[[people]]\naddress = \"bob@example.com\"\nrole = \"operator\"\n\n\
                    [groups]\nfinance = [\"ada@example.com\", \"bob@example.com\"]\non-call = [\"bob@example.com\"]\n";

fn write(site: &Site, text: &str) -> PathBuf {
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// A command of a site whose settings are in this file.
fn with_file(site: &Site, arguments: &[&str], text: &str) -> Command {
    let file = write(site, text);
    let mut command = site.command(arguments);
    command.env("PLACET_CONFIG", file);
    command
}

/// The addresses of the people who are listed.
async fn listed(site: &Site) -> Vec<String> {
    let people = site.run(site.command(["people", "list", "--json"])).await;
    let address = |line: &str| serde_json::from_str::<Value>(line).unwrap()["address"].as_str().unwrap().to_owned();
    people.succeeded().lines().map(address).collect()
}

/// The commands show whom the file names, and refuse to change that; they still do everything else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_leave_to_the_file_what_the_file_names() {
    let site = Site::development();
    let mut server = site.start(with_file(&site, &["serve"], FILE));
    server.line_with("Placet listens on ").await;
    let people = site.run(site.command(["people", "list"])).await;
    let lines: Vec<&str> = people.succeeded().lines().collect();
    assert!(
        lines.len() == 2
            && lines.iter().all(|line| line.contains("by placet/configuration") && line.ends_with("  (configuration file)")),
        "{lines:?}"
    );
    let groups = site.run(site.command(["groups", "list"])).await;
    assert_eq!(
        groups.succeeded(),
        "finance  ada@example.com, bob@example.com  (configuration file)\non-call  bob@example.com  (configuration file)\n"
    );
    for (arguments, words) in [
        (
            &["people", "change", "ada@example.com", "--role", "operator"][..],
            "[[people]] entry with address = \"ada@example.com\"",
        ),
        (&["people", "remove", "ADA@example.com"], "[[people]] entry with address = \"ada@example.com\""),
        (&["people", "add", "ada@example.com", "--role", "admin"], "listed already"),
        (&["groups", "set", "finance", "ada@example.com"], "change groups.finance there, and start the server again"),
        (&["groups", "remove", "on-call"], "change groups.on-call there, and start the server again"),
    ] {
        site.run(site.command(arguments)).await.refused(&[words]);
    }
    site.run(site.command(["people", "add", "eve@example.com", "--role", "auditor"])).await.succeeded();
    site.run(site.command(["groups", "set", "own", "ada@example.com", "eve@example.com"])).await.succeeded();
    server.signal("TERM").await;
    server.finish().await.succeeded();
    let shorter = FILE
        .replace("[[people]]\naddress = \"bob@example.com\"\nrole = \"operator\"\n\n", "")
        .replace(", \"bob@example.com\"", "")
        .replace("on-call", "# on-call");
    let doctor = site.run(with_file(&site, &["doctor", "--config", "placet.toml"], &shorter)).await;
    assert!(
        doctor.succeeded().contains("The next start removes people whom the file does not name any more (1): bob@example.com."),
        "{doctor:?}"
    );
    let mistyped = format!("{FILE}\n[floors.groups]\nfincance = \"session\"\nfinance = \"session\"\n");
    let doctor = site.run(with_file(&site, &["doctor", "--config", "placet.toml"], &mistyped)).await;
    assert!(doctor.succeeded().contains("[floors.groups] names groups that do not exist: fincance."), "{doctor:?}");
    let mut server = site.start(with_file(&site, &["serve"], &shorter));
    server.line_with("Placet listens on ").await;
    let log = server.errors();
    let warned = log.lines().find(|line| line.contains("removed people whom the configuration file does not name any more"));
    let warned: Value = serde_json::from_str(warned.unwrap_or_else(|| panic!("{log}"))).unwrap();
    assert_eq!((&warned["level"], &warned["fields"]["people"]), (&json!("WARN"), &json!(1)), "{warned}");
    assert_eq!(listed(&site).await, ["ada@example.com", "eve@example.com"]);
    server.kill().await;
}

/// A mistyped file is refused by the server and by the doctor in the same words, which name the line or the field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typo_is_named_by_the_server_and_by_the_doctor() {
    let site = Site::development();
    let ada = "[[people]]\naddress = \"ada@example.com\"\n";
    for (text, words) in [
        (ada.replace("people", "person") + "role = \"admin\"\n", "line 1, [[person]]: unknown field, expected one of"),
        ("[people]\naddress = \"ada@example.com\"\n".to_owned(), "line 1, [people]: invalid type: map, expected a sequence"),
        ("[group]\nfinance = []\n".to_owned(), "line 1, [group]: unknown field, expected one of"),
        (
            ada.replace("address", "adress") + "role = \"admin\"\n",
            "line 2, adress: unknown field, expected one of `address`, `role`, `time_zone`, `locale`",
        ),
        (format!("{ada}role = \"operators\"\n"), "line 3, role: unknown variant, expected one of `auditor`, `operator`, `admin`"),
        (format!("{ada}role = \"agent\"\n"), "line 3, role: unknown variant, expected one of `auditor`, `operator`, `admin`"),
        (format!("{ada}role = admin\n"), "line 3, role: "),
        (ada.to_owned(), "line 1, [[people]]: missing field `role`"),
        (
            format!("{ada}role = \"admin\"\ngroups = [\"finance\"]\n"),
            "line 4, groups: unknown field, expected one of `address`, `role`, `time_zone`, `locale`",
        ),
        (
            format!("{ada}role = \"admin\"\n{}role = \"admin\"\n", ada.replace("\"ada", "\"Ada")),
            "people[1].address: ada@example.com is named twice",
        ),
        (ada.replace('@', "") + "role = \"admin\"\n", "people[0].address: must be one plain e-mail address"),
        ("[groups]\nfinance = \"ada@example.com\"\n".to_owned(), "line 2, finance: invalid type: string, expected a sequence"),
        ("[groups]\nfinance = []\n".to_owned(), "groups.finance: must be 1 to 200 addresses"),
        ("[groups]\nFinance = [\"ada@example.com\"]\n".to_owned(), "groups: \"Finance\" is no name of a group"),
        (
            format!("{ada}role = \"admin\"\n[groups]\nfinance = [\"ada@example.com\", \"ada@Example.com\"]\n"),
            "groups.finance[1]: ada@example.com is named twice",
        ),
        (
            format!("{ada}role = \"admin\"\n[groups]\nfinance = [\"ada@example.com\", \"bob@example.com\"]\n"),
            "groups.finance[1]: bob@example.com is no listed person",
        ),
        (
            format!("{ada}role = \"admin\"\n[groups]\nfinance = [\"ada@example.com\"]\nfinance = [\"ada@example.com\"]\n"),
            "line 6, finance: duplicate key",
        ),
    ] {
        let doctor = site.run(with_file(&site, &["doctor", "--config", "placet.toml"], &text)).await;
        assert!(
            !doctor.status.success() && doctor.stdout.replace("\n                      ", " ").contains(words),
            "{text}{words}: {doctor:?}"
        );
        let served = site.run(with_file(&site, &["serve"], &text)).await;
        served.refused(&[words]);
    }
    assert_eq!(listed(&site).await, [""; 0]);
}

/// People and groups change all or none: a start that dies in between leaves the lists as they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_dies_within_its_changes_has_made_none() {
    let site = Site::development();
    site.run(site.command(["people", "add", "eve@example.com", "--role", "auditor"])).await.succeeded();
    for time in 1..=4 {
        let mut command = with_file(&site, &["serve"], FILE);
        command.env("PLACET_KILL_AT", format!("within-roster:{time}"));
        let ended = site.start(command).finish().await;
        assert_eq!(ended.status.signal(), Some(SIGABRT), "{time}: {ended:?}");
        assert_eq!(listed(&site).await, ["eve@example.com"], "{time}");
    }
    let mut server = site.start(with_file(&site, &["serve"], FILE));
    server.line_with("Placet listens on ").await;
    assert_eq!(listed(&site).await, ["eve@example.com", "ada@example.com", "bob@example.com"]);
    server.kill().await;
}
