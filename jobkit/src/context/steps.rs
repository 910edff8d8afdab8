//! Steps: parts of a run whose results later attempts get back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{PgConnection, PgPool};

use super::{Attempt, JobContext};
use crate::error::{ContextError, InvalidValue};
use crate::exact;
use crate::limits::{self, NAME_BYTES, STEP_BYTES};
use crate::lock::Lock;

impl<S> JobContext<S> {
    /// Runs a part of the job, and keeps what it returns: a later attempt gets that value back and
    /// does not run the part again.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # async fn charge(order: i64) -> std::io::Result<String> { Ok(String::new()) }
    /// # async fn ship(order: i64, charge: &str) -> std::io::Result<String> { Ok(String::new()) }
    /// # async fn run(cx: JobContext, order: i64) -> jobkit::Result {
    /// let charge = cx.step("charge", async || Ok(charge(order).await?)).await?;
    /// cx.step("ship", async || Ok(ship(order, &charge).await?)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// A step runs at least once: if the process dies after its effect and before its value is
    /// stored, the next attempt runs it again. For an effect in your own database, use
    /// [`step_in`](Self::step_in); for one elsewhere, pass on an idempotency key made of
    /// [`step_key`](Self::step_key).
    ///
    /// Steps are known by their names, so they may be reordered, added and removed between two
    /// versions of a handler. In a loop, make a name for each turn: `format!("page {n}")`. Values
    /// survive retries, snoozes, stops, crashes, and the replay of a dead letter, unless that
    /// changes the payload. They are removed with the job. A value may have at most 64 KiB as JSON.
    ///
    /// # Errors
    /// Whatever `work` returns: then nothing is stored. [`ContextError::Step`] if the value cannot
    /// be encoded, or the stored one is not of this type; [`ContextError::StepTwice`] if this
    /// attempt has used the name before; [`ContextError::Invalid`] for a name that is empty or
    /// longer than 128 bytes, and for a value that is too large; [`ContextError::Busy`] after
    /// [`complete_in`](Self::complete_in); [`ContextError::ClaimLost`]; [`ContextError::Database`].
    pub async fn step<T, F, Fut>(&self, name: impl AsRef<str>, work: F) -> crate::Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = crate::Result<T>>,
    {
        let name = name.as_ref();
        if let Some(value) = self.attempt.begin_step(name).await? {
            return Ok(value);
        }
        let value = work().await?;
        let json = encode(name, &value)?;
        self.attempt.save_step(name, json).await?;
        Ok(value)
    }

    /// Runs a part of the job in a transaction of your database, and stores what it returns in the
    /// same transaction. So its effect happens exactly once, whenever the process dies. `pool` must
    /// be of the worker's database.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # use sqlx::PgPool;
    /// # async fn run(cx: JobContext<PgPool>, order: i64) -> jobkit::Result {
    /// let reserved: i64 = cx
    ///     .step_in("reserve", cx.state(), async |tx| {
    ///         let sql = "insert into reservations (order_id) values ($1) returning id";
    ///         Ok(sqlx::query_scalar(sql).bind(order).fetch_one(tx).await?)
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// The transaction is READ COMMITTED, begun for this step and committed after `work`. If `work`
    /// fails, or this attempt has lost its job, it is rolled back.
    ///
    /// # Errors
    /// Those of [`step`](Self::step), and those of beginning and committing the transaction.
    pub async fn step_in<T, F>(
        &self,
        name: impl AsRef<str>,
        pool: &PgPool,
        work: F,
    ) -> crate::Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut PgConnection) -> crate::Result<T>,
    {
        let name = name.as_ref();
        if let Some(value) = self.attempt.begin_step(name).await? {
            return Ok(value);
        }
        let claim = self.attempt.own_claim().await?;
        let mut tx = pool.begin().await?;
        let value = work(&mut tx).await?;
        let json = encode(name, &value)?;
        self.attempt.save_step_in(&mut tx, claim, name, &json).await?;
        self.attempt.keeps(true);
        tx.commit().await?;
        self.attempt.steps.keep(name, json);
        Ok(value)
    }

    /// A string for other systems that take an idempotency key: the same in every attempt that runs
    /// this step, and different for every other step and job. The replay of a dead letter has
    /// another key, since it is another job.
    #[must_use]
    pub fn step_key(&self, name: &str) -> String {
        format!("{}-{name}", self.idempotency_key())
    }
}

impl Attempt {
    /// Begins a step: the value that it has already, if any.
    async fn begin_step<T: DeserializeOwned>(
        self: &Arc<Self>,
        name: &str,
    ) -> Result<Option<T>, ContextError> {
        limits::name("name of a step", name, NAME_BYTES)?;
        if self.completing.asked() {
            // The transaction that completes the job has its claim.
            return Err(ContextError::Busy);
        }
        if !self.steps.known() {
            let stored = match &self.reach {
                Some(reach) => reach.steps_of(self.id).await?,
                None => Vec::new(),
            };
            self.keeps(!stored.is_empty());
            self.steps.read(stored);
        }
        match self.steps.begin(name)? {
            Some(json) => serde_json::from_str(&json).map(Some).map_err(failed(name)),
            None => Ok(None),
        }
    }

    async fn save_step(self: &Arc<Self>, name: &str, json: String) -> Result<(), ContextError> {
        let claim = self.report.claim();
        if let Some(reach) = &self.reach
            && !reach.save_step(claim, self.id, self.facts.attempt, name, &json).await?
        {
            return Err(ContextError::ClaimLost);
        }
        self.keeps(true);
        self.steps.keep(name, json);
        Ok(())
    }

    /// Has its steps removed once the job has ended, if there are any.
    fn keeps(self: &Arc<Self>, some: bool) {
        if some && self.reach.is_some() {
            self.say(|said| said.checkpointed = true);
        }
    }

    async fn save_step_in(
        &self,
        tx: &mut PgConnection,
        claim: (i64, i64),
        name: &str,
        json: &str,
    ) -> Result<(), ContextError> {
        let Some(reach) = &self.reach else { return Ok(()) };
        match reach.save_step_in(tx, claim, self.id, self.facts.attempt, name, json).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ContextError::ClaimLost),
            Err(error) => Err(ContextError::of_completion(error)),
        }
    }
}

fn encode<T: Serialize>(name: &str, value: &T) -> Result<String, ContextError> {
    encoded(value, ["value of a step", "nesting of the value of a step"], failed(name))
}

/// The JSON of what later attempts read again; what it and its nesting are called in errors.
pub(super) fn encoded<T: Serialize + ?Sized>(
    value: &T,
    [what, nesting]: [&'static str; 2],
    failed: impl Fn(serde_json::Error) -> ContextError,
) -> Result<String, ContextError> {
    let json = serde_json::to_string(value).map_err(&failed)?;
    exact::finite(value, &json).map_err(&failed)?;
    if json.len() > STEP_BYTES {
        let (bytes, limit) = (json.len(), STEP_BYTES);
        return Err(InvalidValue::Length { what, bytes, limit }.into());
    }
    limits::json(what, nesting, &json)?;
    Ok(json)
}

fn failed(name: &str) -> impl Fn(serde_json::Error) -> ContextError {
    |source| ContextError::Step { name: name.to_owned(), source }
}

/// The steps of a job, as an attempt knows them.
#[derive(Debug, Default)]
pub(crate) struct Steps(Lock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Values by name, as JSON; `None` until they are read.
    values: Option<HashMap<String, String>>,
    /// Those that this attempt has begun.
    begun: HashSet<String>,
}

impl Steps {
    fn known(&self) -> bool {
        self.0.lock().values.is_some()
    }

    pub(crate) fn read(&self, stored: Vec<(String, String)>) {
        let mut known = self.0.lock();
        let values = known.values.get_or_insert_default();
        for (name, value) in stored {
            values.entry(name).or_insert(value);
        }
    }

    /// Begins a step; returns the value that it has.
    fn begin(&self, name: &str) -> Result<Option<String>, ContextError> {
        let mut known = self.0.lock();
        if !known.begun.insert(name.to_owned()) {
            return Err(ContextError::StepTwice(name.to_owned()));
        }
        Ok(known.values.as_ref().and_then(|values| values.get(name).cloned()))
    }

    fn keep(&self, name: &str, json: String) {
        self.0.lock().values.get_or_insert_default().insert(name.to_owned(), json);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_begun_once_and_gets_what_is_stored() {
        let steps = Steps::default();
        assert!(!steps.known());
        steps.read(vec![("charge".to_owned(), "7".to_owned())]);
        assert_eq!(steps.begin("charge").expect("once").as_deref(), Some("7"));
        assert_eq!(steps.begin("ship").expect("once"), None);
        steps.keep("ship", "8".to_owned());
        let twice = steps.begin("ship").expect_err("twice").to_string();
        assert!(twice.contains("`ship`"), "{twice}");
    }
}
