//! The parts that benchmarks of a whole server share: their start, the arrival of load, the making and keeping of figures.

pub mod arrival;
mod chart;
pub mod connection;
pub mod figures;
pub mod stream;
pub mod subject;

use std::path::Path;
use std::process::Command;

use clap::Parser;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use self::figures::Report;
use crate::process::{Running, instead, profile};

/// Runs the benchmark called `name`: reads what stands behind `--`, measures, writes the figures to `target/figures`.
pub fn run<A: Parser>(name: &str, measure: impl AsyncFnOnce(A, &mut Report)) {
    // `cargo test --all-targets` starts benchmarks as well, but only `cargo bench` wants figures.
    let mut words: Vec<String> = std::env::args().collect();
    let Some(asked) = words.iter().position(|word| word == "--bench") else { return };
    words.remove(asked);
    let behind = words[1..].join(" ");
    let command = format!("cargo bench -p placet-tests --bench {name}{}{behind}", if behind.is_empty() { "" } else { " -- " });
    let mut report = Report { command, circumstances: circumstances(), figures: Vec::new() };
    // One thread, because the generator takes its processor time from the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(A::parse_from(words), &mut report));
    report.write(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/figures"), name);
}

/// The items in another order, the same in every run. People do not answer in the order in which they were asked.
pub fn shuffled<T>(mut items: Vec<T>) -> Vec<T> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for place in (1..items.len()).rev() {
        let other = random.next_u64() % (place as u64 + 1);
        items.swap(place, usize::try_from(other).unwrap());
    }
    items
}

/// The value below which `part` of the sorted figures lie.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a short list"
)]
pub fn percentile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted[place.clamp(1, sorted.len()) - 1]
}

fn line_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The circumstances that a figure needs beside it.
pub fn circumstances() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("unknown CPU", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let system = line_of("uname", &["-sr"]);
    format!("{cpu}, {cores} cores, {system}; {}", build())
}

/// The build to which the figures belong. A program that was handed in counts as built from the present commit if it lies in this
/// repository's `target` folder and is not older than the commit.
fn build() -> String {
    let commit = line_of("git", &["rev-parse", "--short", "HEAD"]);
    let dirty = if line_of("git", &["status", "--porcelain"]).is_empty() { "" } else { "-dirty" };
    let Some(program) = instead() else { return format!("commit {commit}{dirty}, profile {}", profile()) };
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").canonicalize().unwrap();
    let profile = program.strip_prefix(&target).ok().and_then(Path::parent).map(|folder| folder.display().to_string());
    let built = std::fs::metadata(program).and_then(|file| file.modified()).unwrap();
    let built = built.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let is_newer = line_of("git", &["log", "-1", "--format=%ct"]).parse().is_ok_and(|committed: u64| built >= committed);
    match profile {
        Some(profile) if is_newer => format!("commit {commit}{dirty}, profile {profile}"),
        Some(profile) => format!("built before commit {commit}{dirty}, profile {profile}"),
        None => format!("program {}, clients of commit {commit}{dirty}", program.display()),
    }
}

/// Memory of the server's process, in MiB.
pub fn resident_mebibytes(server: &Running) -> f64 {
    resident_mebibytes_of(server.id())
}

/// Memory of a process, in MiB.
pub fn resident_mebibytes_of(process: u32) -> f64 {
    status_mebibytes(process, "VmRSS:")
}

/// The most memory a process has had since it began, in MiB.
pub fn peak_mebibytes_of(process: u32) -> f64 {
    status_mebibytes(process, "VmHWM:")
}

fn status_mebibytes(process: u32, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")).unwrap();
    kib.parse::<f64>().unwrap() / 1_024.0
}

/// The bytes that a process has read from files and written to them so far, the page cache of the system included. Replies that
/// are sent in several pieces count as written as well; they are small compared with the pages of the database.
pub fn file_bytes_of(process: u32) -> (f64, f64) {
    let io = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let of = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap();
    (of("rchar:"), of("wchar:"))
}

/// Processor time a process has used so far, in seconds.
pub fn processor_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second word is the program's name in parentheses and may hold anything, so words are counted from behind it. User and
    // system time are the 14th and 15th word, in hundredths of a second.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let words: Vec<&str> = rest.split_whitespace().collect();
    (words[11].parse::<f64>().unwrap() + words[12].parse::<f64>().unwrap()) / 100.0
}
