//! A job with secrets, the keys of a test, and a search for what must not be found.

use std::sync::Mutex;

use jobkit::policy::encryption::{self, Keyring};
use jobkit::{Job, JobContext, JobError, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::MutexGuard;

/// What is looked for everywhere, and found nowhere.
pub(crate) const CANARY: &str = "canary-4711-token";
pub(crate) const NUMBER: u64 = 4_111_222_233_334_444;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[job(kind = "connect", aliases = ["link"], max_attempts = 2, retention = "1h",
    encrypt(api_token, cards.number, note), backoff = fixed("1ms"))]
pub(crate) struct Connect {
    pub(crate) account: i64,
    pub(crate) api_token: String,
    pub(crate) cards: Vec<Card>,
    pub(crate) note: Option<Note>,
    pub(crate) act: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) number: u64,
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) text: String,
}

impl Connect {
    pub(crate) fn new(account: i64, act: &str) -> Self {
        let card = |name: &str| Card { number: NUMBER, name: name.to_owned() };
        Self {
            account,
            api_token: CANARY.to_owned(),
            cards: vec![card("Ada"), card("Bob")],
            note: Some(Note { text: CANARY.to_owned() }),
            act: act.to_owned(),
        }
    }
}

/// What handlers were given.
pub(crate) static RAN: Mutex<Vec<Connect>> = Mutex::new(Vec::new());

/// How often the handler ran for an account, with everything as it was enqueued.
pub(crate) fn ran(account: i64) -> usize {
    let ran = RAN.lock().unwrap();
    let whole =
        |job: &&Connect| **job == Connect { act: job.act.clone(), ..Connect::new(account, "") };
    ran.iter().filter(whole).count()
}

impl Job for Connect {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        RAN.lock().unwrap().push(self.clone());
        let text = format!("refused {} with {}", self.api_token, self.cards[0].number);
        cx.progress(1, 2, &text);
        match &*self.act {
            "fail" => Err(text.into()),
            "discard" => Err(JobError::discard(text)),
            "panic" => panic!("{text}"),
            _ => Ok(()),
        }
    }
}

/// Every test waits for its turn with the keys of the process.
pub(crate) async fn turn(keys: Keyring) -> MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let turn = TURN.lock().await;
    encryption::keys(keys);
    turn
}

/// A key that is told by its first byte.
pub(crate) fn key(first: u8) -> [u8; 32] {
    std::array::from_fn(|at| first.wrapping_add(at as u8))
}

/// A keyring of these keys, the first seals: each is named by its byte.
pub(crate) fn keyring(keys: &[u8]) -> Keyring {
    let id = |key: u8| format!("key-{key}");
    let first = Keyring::new(id(keys[0]), self::key(keys[0])).unwrap();
    keys[1..].iter().fold(first, |ring, key| ring.with(id(*key), self::key(*key)).unwrap())
}

pub(crate) async fn worker(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().jobs([Registration::of::<Connect, _>()]).queue("default", 4);
    worker.start().await.unwrap()
}

/// Whether a text has a secret in it, open.
pub(crate) fn tells(text: &str) -> bool {
    [CANARY, "4111222233334444"].iter().any(|secret| text.contains(secret))
}

/// The tables and views that have a text in one of their rows.
pub(crate) async fn found_in(lab: &Lab, text: &str) -> Vec<String> {
    let tables: Vec<String> = lab
        .value(
            "select array_agg(c.relname::text) from pg_class c
            where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p', 'v')",
        )
        .await;
    assert!(tables.len() > 30, "{tables:?}");
    let mut found = Vec::new();
    for table in tables {
        let rows = format!("jobkit.{table} r where strpos(r::text, '{text}') > 0");
        if lab.count(&rows).await > 0 {
            found.push(table);
        }
    }
    found
}

pub(crate) async fn nothing_lies_open(lab: &Lab) {
    for secret in [CANARY, "4111222233334444"] {
        assert_eq!(found_in(lab, secret).await, [""; 0], "{secret}");
    }
}
