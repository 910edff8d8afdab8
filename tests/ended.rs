use std::process::Output;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// The longest that a program may take, on a machine with much else to do.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs a program to its end, so that one that never ends fails one test and not the whole run.
///
/// # Panics
///
/// When it cannot be started or runs for more than two minutes; it is killed then.
pub async fn ended(command: &mut Command) -> Output {
    let output = timeout(LONGEST, command.kill_on_drop(true).output()).await;
    let output = output.unwrap_or_else(|_| panic!("ran for {LONGEST:?}: {command:?}"));
    output.unwrap_or_else(|error| panic!("{command:?} did not start: {error}"))
}
