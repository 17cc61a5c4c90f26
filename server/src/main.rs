//! `placet`: the approval server and its tools.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use placet_server::cli::Cli;

// Worth a fifth of the time of a write: every request allocates many small things.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    placet_server::telemetry::init(cli.log_filter());
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell if standard error is gone.
            drop(writeln!(std::io::stderr(), "placet: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
