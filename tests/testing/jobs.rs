//! The jobs of these tests. They need no state, and say by their fields what they do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jobkit::chunk::{ChunkJob, Member};
use jobkit::enqueue::Topic;
use jobkit::policy::encryption::{self, Keyring};
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

/// Two are one call. The second of them fails, and says of how many.
#[derive(Serialize, Deserialize)]
#[job(chunk = 2, linger = "1s", max_attempts = 1)]
pub(crate) struct Mate {
    pub(crate) second: bool,
}

impl ChunkJob for Mate {
    async fn run(chunk: Vec<Member<Self>>) -> jobkit::Result {
        for member in &chunk {
            let failed = member.second.then(|| format!("it failed in a call of {}", chunk.len()));
            member.answer(failed.map_or(Ok(()), |failed| Err(failed.into())));
        }
        Ok(())
    }
}

/// Its second attempt returns where the first has come to.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"), result = u32)]
pub(crate) struct Resume {}

impl Job for Resume {
    async fn run(self, cx: JobContext) -> jobkit::Result<u32> {
        if let Some(page) = cx.last_checkpoint().await? {
            return Ok(page);
        }
        cx.checkpoint(&7).await?;
        Err("cut off".into())
    }
}

/// Dies of what it was told, which nobody is to see.
#[derive(Serialize, Deserialize)]
#[job(encrypt(token))]
pub(crate) struct Seal {
    pub(crate) token: String,
}

impl Job for Seal {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Err(JobError::dead(format!("{} is refused", self.token)))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Paid {
    pub(crate) order: u32,
}

impl Topic for Paid {
    const NAME: &'static str = "testing.paid";
}

#[derive(Serialize, Deserialize)]
#[job(subscribes, result = u32)]
pub(crate) struct Receipt(Paid);

impl Job for Receipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result<u32> {
        Ok(self.0.order)
    }
}

#[derive(Serialize, Deserialize)]
#[job(subscribes, max_attempts = 1)]
pub(crate) struct Stock(Paid);

impl Job for Stock {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Err("nothing is left".into())
    }
}

pub(crate) fn nightly() -> [Registration; 1] {
    [Registration::of::<Nightly, _>()]
}

/// With the key that it takes.
pub(crate) fn sealed() -> [Registration; 1] {
    encryption::keys(Keyring::new("key", *b"only a test: one of many letters").unwrap());
    [Registration::of::<Seal, _>()]
}

/// All that take neither a schedule nor a key.
pub(crate) fn all() -> [Registration; 12] {
    [
        Registration::of::<Act, _>(),
        Registration::of::<Patient, _>(),
        Registration::of::<Fleeting, _>(),
        Registration::of::<Keyed, _>(),
        Registration::of::<Unique, _>(),
        Registration::of::<Coalescing, _>(),
        Registration::of::<Filed, _>(),
        Registration::of::<Brief, _>(),
        Registration::of_chunk::<Mate, _>(),
        Registration::of::<Resume, _>(),
        Registration::of::<Receipt, _>(),
        Registration::of::<Stock, _>(),
    ]
}
