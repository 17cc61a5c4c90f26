//! Tasks with a name.

use std::future::Future;

use futures_util::FutureExt;
use tokio::task::JoinHandle;

/// Spawns a task under a name; a panic in it is logged under that name.
#[expect(clippy::disallowed_methods, reason = "this is the place that gives tasks their name and their witness")]
pub fn spawn_named<F: Future<Output = ()> + Send + 'static>(name: &'static str, task: F) -> JoinHandle<()> {
    tokio::spawn(async move {
        if std::panic::AssertUnwindSafe(task).catch_unwind().await.is_err() {
            tracing::error!(task = name, "a task panicked and has ended");
        }
    })
}
