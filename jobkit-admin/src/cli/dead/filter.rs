//! Which dead letters match.

use chrono::{DateTime, Utc};
use clap::ValueEnum;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterState};

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum State {
    #[default]
    Open,
    Replaying,
    Resolved,
}

/// Which dead letters match, in one state.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Filter {
    /// The state of the dead letters
    #[arg(long, value_enum, default_value_t)]
    state: State,
    #[command(flatten)]
    open: Open,
}

/// Which dead letters match: those that meet every condition.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Open {
    /// Only this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only this queue
    #[arg(long)]
    queue: Option<String>,
    /// Only with this dead-letter key
    #[arg(long)]
    key: Option<String>,
    /// Only with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only with this cause, given by its fingerprint
    #[arg(long)]
    fingerprint: Option<String>,
    /// Only if the last failure was before this time: 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    failed_before: Option<DateTime<Utc>>,
    /// Only if the last failure was at this time or later
    #[arg(long, value_name = "TIME")]
    failed_after: Option<DateTime<Utc>>,
}

impl Filter {
    pub(super) fn filter(self) -> DeadLetterFilter {
        self.open.filter().state(match self.state {
            State::Open => DeadLetterState::Open,
            State::Replaying => DeadLetterState::Replaying,
            State::Resolved => DeadLetterState::Resolved,
        })
    }
}

impl Open {
    pub(super) fn filter(self) -> DeadLetterFilter {
        let filter = DeadLetterFilter::all();
        let filter = self.kind.into_iter().fold(filter, DeadLetterFilter::kind);
        let filter = self.queue.into_iter().fold(filter, DeadLetterFilter::queue);
        let filter = self.key.into_iter().fold(filter, DeadLetterFilter::key);
        let filter = self.tag.into_iter().fold(filter, DeadLetterFilter::tag);
        let filter = self.fingerprint.into_iter().fold(filter, DeadLetterFilter::fingerprint);
        let filter = self.failed_before.into_iter().fold(filter, DeadLetterFilter::failed_before);
        self.failed_after.into_iter().fold(filter, DeadLetterFilter::failed_after)
    }
}
