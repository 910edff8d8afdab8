//! The jobs of these tests. They need no state, and say by their fields what they do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jobkit::{Job, JobContext, JobError, Registration, job};
use serde::{Deserialize, Serialize};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Serialize, Deserialize, Debug, Clone, Copy)]
pub(crate) enum Then {
    Finish,
    Fail,
    RetryIn,
    Snooze,
    SnoozeLong,
    Discard,
    Dead,
    ReleaseOnce,
    Panic,
    Hang,
}

/// Which jobs have been here: a release changes nothing that a handler could see.
static SEEN: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

fn visits(key: String) -> u32 {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let visits = seen.get_or_insert_default().entry(key).or_default();
    *visits += 1;
    *visits
}

impl Then {
    async fn act(self, cx: &JobContext) -> jobkit::Result {
        match self {
            Self::Finish => Ok(()),
            Self::Fail => Err("it failed".into()),
            Self::RetryIn => Err(JobError::retry_in(HOUR, "in an hour")),
            Self::Snooze if cx.snoozes() == 2 => Ok(()),
            Self::Snooze => Err(JobError::snooze(Duration::from_millis(1))),
            Self::SnoozeLong => Err(JobError::snooze(HOUR)),
            Self::Discard => Err(JobError::discard("pointless")),
            Self::Dead => Err(JobError::dead("hopeless")),
            Self::ReleaseOnce if visits(cx.idempotency_key()) > 1 => Ok(()),
            Self::ReleaseOnce => Err(JobError::release()),
            Self::Panic => panic!("it panicked"),
            Self::Hang => std::future::pending().await,
        }
    }
}

macro_rules! acting {
    ($($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty),* })*) => {$(
        $(#[$attribute])*
        #[derive(Serialize, Deserialize, Debug, Clone)]
        pub(crate) struct $name {
            pub(crate) then: Then,
            $(pub(crate) $field: $type,)*
        }

        impl Job for $name {
            async fn run(self, cx: JobContext) -> jobkit::Result {
                self.then.act(&cx).await
            }
        }
    )*};
}

acting! {
    #[job(max_attempts = 2, backoff = fixed("1ms"), timeout = "50ms", retention = "1h",
          queue = "acts")]
    Act {}

    #[job(max_attempts = 3, backoff = fixed("1h"))]
    Patient {}

    #[job(retention = none)]
    Fleeting {}

    #[job(concurrency_key = self.key, concurrency_limit = 1, max_attempts = 1)]
    Keyed { key: String }

    #[job(unique_key = self.key)]
    Unique { key: String }

    #[job(coalesce_key = self.key)]
    Coalescing { key: String, n: i64 }

    #[job(dead_letter_key = self.key, max_attempts = 1)]
    Filed { key: String }

    #[job(expires = "1s")]
    Brief {}
}

/// Fails unless a schedule has enqueued it.
#[derive(Serialize, Deserialize, Default)]
#[job(schedule = "0 3 * * *")]
pub(crate) struct Nightly;

impl Job for Nightly {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        cx.instant().map(drop).ok_or_else(|| JobError::dead("there is no instant"))
    }
}

pub(crate) fn nightly() -> [Registration; 1] {
    [Registration::of::<Nightly, _>()]
}

/// All but those that a schedule would bring.
pub(crate) fn all() -> [Registration; 8] {
    [
        Registration::of::<Act, _>(),
        Registration::of::<Patient, _>(),
        Registration::of::<Fleeting, _>(),
        Registration::of::<Keyed, _>(),
        Registration::of::<Unique, _>(),
        Registration::of::<Coalescing, _>(),
        Registration::of::<Filed, _>(),
        Registration::of::<Brief, _>(),
    ]
}
