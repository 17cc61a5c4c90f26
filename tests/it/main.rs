//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own. `docs/tests.md` says which folder holds what.

/// Thousands of servers in one process fragment the memory of the system's allocator, until it takes a quarter of the time of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod answering;
mod api;
mod asking;
mod containers;
mod delivering;
mod house;
mod lifecycle;
mod log;
mod observing;
mod overload;
mod pages;
mod people;
#[path = "../process/mod.rs"]
mod process;
mod protocols;
mod sdk;
mod storage;
mod time;
