//! The pause between two looks at something that another program or thread does in its own time.
//!
//! A test that looks again without a pause takes the processor from the thing that it waits for, and from the tests beside it.

use std::time::Duration;

/// How long a look waits for the next.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits a moment before the next look.
pub async fn pause() {
    tokio::time::sleep(LOOK_EVERY).await;
}
