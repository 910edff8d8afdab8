//! Whether a worker is needed.

use std::time::Duration;

use super::call::statements;
use super::read::One;

statements! {
    /// How long until there is something to do for a worker of these queues; `None` if nothing is
    /// known.
    fn next_work(queues: &[&str], prefixes: &[&str]) -> One<Option<Duration>>
        = include_str!("sql/next_work.sql");
}
