//! The load that one server carries, over real sockets: `docs/performance.md` describes the workloads and their goals.
//!
//! ```text
//! cargo build --profile dist -p placet-server
//! cargo bench -p placet-tests --bench load -- --workloads W1,W2,W3,W4 --count 20000 --rounds 3 --peer --program target/dist/placet
//! ```
//!
//! The server is its own process; it, the generator and (with `--peer`) the reference server share the machine. Before any figure of a
//! run is printed the server is killed and started again, every answer it acknowledged is read back, and every chain verified.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

mod asking;
mod delivering;
mod durability;
mod overload;
mod reference;
mod replicas;

use std::path::{Path, PathBuf};

use clap::Parser;
use harness::bench::{circumstances, figures::Report, run};
use harness::process::run_instead;

#[derive(Parser)]
struct Arguments {
    /// The workloads to run.
    #[arg(long, value_delimiter = ',', default_value = "W1,W2,W3,W4")]
    workloads: Vec<String>,
    /// Questions of one round.
    #[arg(long, default_value_t = 20_000)]
    count: usize,
    /// Rounds that are measured; one more round before them warms up the server.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The program to load, if not the one built from these sources; the path counts from the root of the repository.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Also load the reference server, with the same clients.
    #[arg(long)]
    peer: bool,
}

impl Arguments {
    fn asks_for(&self, workloads: &[&str]) -> bool {
        workloads.iter().any(|workload| self.workloads.iter().any(|asked| asked == workload))
    }
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = &arguments.program {
        // Cargo starts a benchmark in the folder of its package, but the path counts from the folder where cargo was called.
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(program);
        run_instead(program.canonicalize().expect("the program is there"));
        report.circumstances = circumstances();
    }
    if arguments.asks_for(&["W1", "W2", "W3", "W4"]) {
        asking::measure(&arguments, report).await;
    }
    if arguments.asks_for(&["W9"]) {
        delivering::measure(&arguments, report).await;
    }
    if arguments.asks_for(&["W12"]) {
        replicas::measure(&arguments, report).await;
    }
    if arguments.asks_for(&["W13"]) {
        overload::measure(&arguments, report).await;
    }
}

fn main() {
    run("load", measure);
}
