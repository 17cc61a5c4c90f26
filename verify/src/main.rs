//! `placet-verify`: checks an export of Placet's log, offline.

use std::process::ExitCode;

use clap::Parser;
use verify::command::{VerifyArgs, run};

// Each replayed event allocates many small things, and the server's program has this allocator as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of the program.
const NAME: &str = "placet-verify";

/// Checks exports of Placet's log without a server and without a network, and replays the decisions in them.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Program {
    #[command(flatten)]
    arguments: VerifyArgs,
}

fn main() -> ExitCode {
    run(NAME, Program::parse().arguments)
}
