//! Schedules: jobs that recur.

use chrono::{DateTime, Utc};

use crate::JobId;
use crate::admin::AdminError;
use crate::admin::encryption::sealed;
use crate::admin::{Admin, let_hands_change};
use crate::error::DatabaseError;
use crate::limits::{self, NAME_BYTES};
use crate::schedule::{Schedule, Times, decide};
use crate::store::{self, Link, due_schedules};

mod edit;
mod schedule;
pub(super) mod statements;

pub use self::edit::{ScheduleEdit, ScheduleError, ScheduledJob};
pub use self::schedule::{
    OverdueSchedule, PausedSchedule, ScheduleDetail, SchedulePause, ScheduleRun, ScheduleSummary,
};

/// How often a change waits for workers that are deciding instants of a schedule.
const TRIES: u32 = 10;

impl Admin {
    /// 1 to 500 schedules by name, after this one (`""`: from the first).
    pub async fn schedules(
        &self,
        after: &str,
        limit: u32,
    ) -> Result<Vec<ScheduleSummary>, AdminError> {
        limits::text("name of a schedule", after, NAME_BYTES)?;
        self.ask(&statements::schedules(after, limit.clamp(1, 500).into(), None)).await
    }

    /// A schedule, with the job it enqueues; `None` if there is none or it was deleted.
    pub async fn schedule(&self, name: &str) -> Result<Option<ScheduleDetail>, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let mut link = self.link();
        let summary = link.call(&statements::schedules("", 1, Some(name))).await?.pop();
        let job = link.call(&statements::schedule_job(name)).await?;
        link.close().await;
        Ok(summary.zip(job).map(|(summary, job)| job.of(summary)))
    }

    /// The runs of a schedule, that is its instants and what became of them: 1 to 500 before a
    /// time, the latest first. History is kept for 30 days, or as
    /// [`Worker::keep_runs`](crate::Worker::keep_runs) says, also for deleted schedules.
    pub async fn schedule_runs(
        &self,
        name: &str,
        before: Option<DateTime<Utc>>,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        self.ask(&statements::schedule_runs(name, before, limit.clamp(1, 500).into())).await
    }

    /// Creates a schedule, which no deploy changes. Returns whether there was none of this name; a
    /// deleted one does not count.
    ///
    /// ```no_run
    /// # async fn f(admin: jobkit::Admin) -> anyhow::Result<()> {
    /// use jobkit::admin::schedules::ScheduledJob;
    ///
    /// let job = ScheduledJob::new("report", serde_json::json!({"region": 7}));
    /// admin.create_schedule("report-7", "0 3 * * * Europe/Berlin", job).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError`] says which.
    pub async fn create_schedule(
        &self,
        name: &str,
        schedule: impl Into<Schedule>,
        job: ScheduledJob,
    ) -> Result<bool, ScheduleError> {
        let (kind, args) = job.payload();
        let (mut stored, times) = job.stored(name, &schedule.into())?;
        let mut link = self.link();
        let sealed = sealed(&mut link, &kind, &args).await?;
        let args = sealed.unwrap_or(args).to_string();
        stored["next_at"] = next(&mut link, &times).await?.into();
        let create = statements::create_schedule(&stored, &args, self.actor());
        let created = link.call(&create).await.map_err(ScheduleError::of)?;
        link.close().await;
        Ok(created)
    }

    /// Changes a schedule. Code that declares the schedule does not undo these changes. No instant
    /// fires twice. Returns whether there is such a schedule.
    ///
    /// # Errors
    /// [`ScheduleError`] says which.
    pub async fn edit_schedule(
        &self,
        name: &str,
        mut edit: ScheduleEdit,
    ) -> Result<bool, ScheduleError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let (mut stored, times) = edit.stored()?;
        let mut link = self.link();
        if let Some(args) = &edit.args {
            let kind = link.call(&statements::schedule_kind(name)).await?;
            let Some((kind, version)) = kind else { return Ok(false) };
            if let Some(key) = edit::key_of(&kind, version.cast_unsigned(), args)? {
                stored["concurrency_key"] = key.into();
            }
            if let Some(sealed) = sealed(&mut link, &kind, args).await? {
                edit.args = Some(sealed);
            }
        }
        let args = edit.args.map(|args| args.to_string());
        for attempt in 0..=TRIES {
            let_hands_change(attempt).await;
            let mut missing = attempt == TRIES;
            if let Some(times) = &times {
                // New times begin after now.
                missing |= !decide_due(&mut link, name).await?;
                stored["next_at"] = next(&mut link, times).await?.into();
            }
            let change =
                statements::edit_schedule(name, &stored, args.as_deref(), self.actor(), missing);
            if let Some(found) = link.call(&change).await.map_err(ScheduleError::of)? {
                link.close().await;
                return Ok(found);
            }
        }
        Err(AdminError::Busy.into())
    }

    /// Pauses a schedule: its instants are recorded, not fired. `actor` and `reason` (4,096 bytes at
    /// most) are for the audit; an empty `actor` is that of [`acting_as`](Self::acting_as). Returns
    /// whether it was not paused before; `None` if there is no such schedule.
    pub async fn pause_schedule(
        &self,
        name: &str,
        actor: &str,
        reason: &str,
    ) -> Result<Option<bool>, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        limits::reason(reason)?;
        let actor = if actor.is_empty() { self.actor().unwrap_or("") } else { actor };
        self.ask(&statements::pause_schedule(name, &limits::actor(actor), reason)).await
    }

    /// Resumes a schedule. Instants that the pause skipped stay skipped. Returns whether it was
    /// paused; `None` if there is no such schedule.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if workers keep it busy.
    pub async fn resume_schedule(&self, name: &str) -> Result<Option<bool>, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        let mut link = self.link();
        for attempt in 0..TRIES {
            let_hands_change(attempt).await;
            let resumed = link.call(&statements::resume_schedule(name, self.actor())).await?;
            if resumed.as_deref() != Some("due") {
                link.close().await;
                return Ok(resumed.map(|resumed| resumed == "resumed"));
            }
            decide_due(&mut link, name).await?;
        }
        Err(AdminError::Busy)
    }

    /// Enqueues the job of a schedule now, even while it is paused or its last job runs. Its times
    /// stay as they are. Returns the job; `None` if there is no such schedule.
    pub async fn run_schedule(&self, name: &str) -> Result<Option<JobId>, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        Ok(self.ask(&statements::run_schedule(name, self.actor())).await?.map(JobId))
    }

    /// Deletes a schedule; its jobs and its history stay. One that code declares does not come back
    /// with the next worker, only with [`create_schedule`](Self::create_schedule). Returns whether
    /// there was one.
    pub async fn delete_schedule(&self, name: &str) -> Result<bool, AdminError> {
        limits::name("name of a schedule", name, NAME_BYTES)?;
        self.ask(&statements::delete_schedule(name, self.actor())).await
    }
}

/// The first instant after now, by the database's clock.
async fn next(link: &mut Link, times: &Times) -> Result<Option<String>, DatabaseError> {
    let now = link.call(&store::clock()).await?;
    Ok(times.next_after(now).map(|next| next.to_rfc3339()))
}

/// Decides the due instants of a schedule, as a worker does. Returns whether its times can be read.
async fn decide_due(link: &mut Link, name: &str) -> Result<bool, DatabaseError> {
    let Some(due) = link.call(&due_schedules(1, &[], Some(name))).await?.pop() else {
        return Ok(true);
    };
    let Ok(times) = due.times.parse::<Times>() else { return Ok(false) };
    link.call(&store::fire(&[decide(&due, &times)])).await?;
    Ok(true)
}
