//! Lists of jobs.

use serde_json::{Value, json};

use super::query::{JobQuery, Listing};
use super::statements::{JobsList, Listed, OneJob, jobs_count, jobs_list, jobs_withheld};
use super::summary::{Ended, JobCursor, JobPage, JobSummary, State};
use crate::admin::AdminError;
use crate::admin::count::count;
use crate::admin::{Admin, Count, without_nulls};
use crate::limits::{self, KEY_BYTES, NAME_BYTES};
use crate::store::Link;
use crate::store::number;

/// How many jobs are looked at for a page.
const WINDOW: i32 = 10_000;

/// How many are looked at if their payloads or errors are read.
const LARGE_WINDOW: i32 = 2_000;

/// The same for each number on a row of tabs.
const TAB_WINDOW: i32 = 1_000;
const LARGE_TAB_WINDOW: i32 = 200;

/// Longest text searched for, and longest path.
const TEXT_BYTES: usize = 512;

/// Most paths searched for.
const PATHS: usize = 16;

impl JobQuery {
    pub(in crate::admin) fn check(&self) -> Result<(), AdminError> {
        let names = [
            ("kind", &self.kind, NAME_BYTES),
            ("queue", &self.queue, NAME_BYTES),
            ("tag", &self.tag, NAME_BYTES),
            ("concurrency group", &self.group, NAME_BYTES),
            ("part of an error", &self.error, TEXT_BYTES),
        ];
        for (what, name, limit) in names {
            name.as_ref().map_or(Ok(()), |name| limits::name(what, name, limit))?;
        }
        limits::text("concurrency key", self.key.as_deref().unwrap_or(""), KEY_BYTES)?;
        limits::range("number of paths", self.args.len(), 0..=PATHS, "0 to 16")?;
        for (path, value) in &self.args {
            limits::name("path", path, TEXT_BYTES)?;
            limits::text("value of a path", value, TEXT_BYTES)?;
        }
        Ok(())
    }

    /// The form of the database and of operations.
    pub(in crate::admin) fn filter(&self) -> Value {
        let (paths, values): (Vec<_>, Vec<_>) = self.args.iter().cloned().unzip();
        without_nulls(json!({
            "listing": self.listing.as_str(), "kind": self.kind, "queue": self.queue,
            "tag": self.tag, "group": self.group, "key": self.key, "error": self.error,
            "ended": self.ended.map(Ended::as_str), "worker": self.worker,
            "batch": self.batch.map(|batch| batch.0), "id": self.id.map(|id| id.0),
            "paths": paths, "values": values, "reveal": self.reveal,
        }))
    }

    /// Whether every job that the listing's index finds matches.
    fn is_found_by_index(&self) -> bool {
        let keyed = self.listing == Listing::Blocked;
        let by_batch = matches!(self.listing, Listing::Live | Listing::Finished);
        let by_index = Self {
            listing: self.listing,
            queue: self.queue.clone().filter(|_| self.listing == Listing::Ready),
            group: self.group.clone().filter(|_| keyed),
            key: self.key.clone().filter(|_| keyed && self.group.is_some()),
            worker: self.worker.filter(|_| self.listing == Listing::Running),
            batch: self.batch.filter(|_| by_batch),
            reveal: self.reveal,
            ..Self::default()
        };
        *self == by_index
    }

    /// Whether their payloads or errors have to be read.
    fn is_large(&self) -> bool {
        !self.args.is_empty() || self.error.is_some()
    }

    fn window(&self) -> i32 {
        if self.is_large() { LARGE_WINDOW } else { WINDOW }
    }

    fn tab_window(&self) -> i32 {
        if self.is_large() { LARGE_TAB_WINDOW } else { TAB_WINDOW }
    }

    /// Whether every job of its listing matches.
    fn is_any(&self) -> bool {
        *self == Self { listing: self.listing, reveal: self.reveal, ..Self::default() }
    }

    /// The listing that finds the matching jobs; `None` when no job can match.
    fn searched(&self) -> Option<Listing> {
        if let Some(listing) = self.ended.map(Ended::listing) {
            let lists = [Listing::Finished, listing].contains(&self.listing);
            return lists.then_some(listing);
        }
        match (self.listing, self.worker) {
            (Listing::Live, Some(_)) => Some(Listing::Running),
            (
                Listing::Ready | Listing::Scheduled | Listing::Retrying | Listing::Blocked,
                Some(_),
            ) => None,
            (listing, _) => Some(listing),
        }
    }

    /// Whether a job with this summary is in the listing.
    fn lists(&self, job: &JobSummary) -> bool {
        if self.worker.is_some_and(|worker| job.worker != Some(worker)) {
            return false;
        }
        if self.ended.is_some_and(|ended| job.ended != Some(ended)) {
            return false;
        }
        match self.listing {
            Listing::Live => true,
            Listing::Ready => job.state == State::Ready,
            Listing::Scheduled => job.state == State::Scheduled,
            Listing::Retrying => job.state == State::Scheduled && job.attempt > 0,
            Listing::Running => job.state == State::Running,
            Listing::Blocked => job.state == State::Blocked,
            Listing::Finished => job.state == State::Finished,
            listing @ (Listing::Discarded | Listing::Cancelled) => {
                job.ended.is_some_and(|ended| ended.listing() == listing)
            }
        }
    }
}

impl Admin {
    /// A page of 1 to 500 matching jobs (a `limit` outside this range is clamped; [`JobPage::ROWS`]
    /// is usual), in the order of its listing. The next page begins after the cursor that this one
    /// returns; keep the query the same. A cursor of another listing starts at the beginning.
    ///
    /// If an index finds all matching jobs, the query looks only at the jobs it returns. This holds
    /// for any listing without conditions, ready jobs of a queue, blocked jobs of a group or of a
    /// group and key, running jobs of a worker, live or finished jobs of a batch, and an id. Any
    /// other query looks at 10,000 jobs of the listing at most, or at 2,000 if it reads their
    /// errors or payloads; [`JobPage::gave_up_after`] says if that was not enough to fill the page.
    /// A query with an id finds a live or an ended job, on one page; with only an id, also a dead
    /// one.
    ///
    /// Jobs move between lists while you page through them: a job that has moved may appear twice
    /// or not at all.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::jobs::{JobPage, JobQuery};
    /// # async fn f(admin: Admin) -> Result<(), Box<dyn std::error::Error>> {
    /// let query: JobQuery = "state:retrying queue:mail".parse()?;
    /// let page = admin.jobs(&query, None, JobPage::ROWS).await?;
    /// let next = admin.jobs(&query, page.next, JobPage::ROWS).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the query.
    pub async fn jobs(
        &self,
        query: &JobQuery,
        after: Option<JobCursor>,
        limit: u32,
    ) -> Result<JobPage, AdminError> {
        query.check()?;
        let rows = i32::try_from(limit.clamp(1, 500)).unwrap_or(1);
        let mut link = self.list_link();
        let mut page = if query.id.is_some() {
            one(&mut link, query).await?
        } else {
            page(&mut link, query, after, rows).await?
        };
        if !query.args.is_empty() && !query.reveal {
            let paths: Vec<_> = query.args.iter().map(|(path, _)| &**path).collect();
            page.withheld = link.call(&jobs_withheld(query.kind.as_deref(), &paths)).await?;
        }
        link.close().await;
        Ok(page)
    }

    /// How many jobs match the query, among the first 10,000 of its listing, or 2,000 if their
    /// errors or payloads are read.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs).
    pub async fn count_jobs(&self, query: &JobQuery) -> Result<Count, AdminError> {
        Ok(self.sample(query, 1).await?.0)
    }

    /// How many jobs match the query, as far as they are counted, and the first ones.
    pub(in crate::admin) async fn sample(
        &self,
        query: &JobQuery,
        rows: i32,
    ) -> Result<(Count, Vec<JobSummary>), AdminError> {
        query.check()?;
        let mut link = self.list_link();
        let sample = if query.id.is_some() {
            let jobs = one(&mut link, query).await?.jobs;
            (Count::Exactly(number(jobs.len())), jobs)
        } else {
            look(&mut link, query, query.window(), rows).await?
        };
        link.close().await;
        Ok(sample)
    }

    /// How many jobs each listing has under the same other conditions: the numbers on a row of
    /// tabs. Without such a condition 10,000 of each listing are counted, in its index; otherwise
    /// 1,000 of each are looked at, in its order, and 200 when their errors or payloads are read.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs).
    pub async fn count_listings(
        &self,
        query: &JobQuery,
    ) -> Result<Vec<(Listing, Count)>, AdminError> {
        query.check()?;
        let mut link = self.list_link();
        let counts = if query.is_any() {
            link.call(&jobs_count(&Listing::ALL.map(Listing::as_str))).await?
        } else if query.id.is_some() {
            of_one(&mut link, query).await?
        } else {
            let mut counts = Vec::with_capacity(Listing::ALL.len());
            for listing in Listing::ALL {
                let query = JobQuery { listing, ..query.clone() };
                let window = query.tab_window();
                counts.push((listing, look(&mut link, &query, window, 1).await?.0));
            }
            counts
        };
        link.close().await;
        Ok(counts)
    }
}

async fn page(
    link: &mut Link,
    query: &JobQuery,
    after: Option<JobCursor>,
    rows: i32,
) -> Result<JobPage, AdminError> {
    let Some(listing) = query.searched() else {
        return Ok(JobPage { jobs: Vec::new(), next: None, gave_up_after: None, withheld: false });
    };
    let after = after.filter(|cursor| cursor.listing == listing);
    let place = after.as_ref().map(|cursor| &*cursor.place);
    let window = if query.is_found_by_index() { rows } else { query.window() };
    let list = jobs_list(&JobsList { listing, query, place, window, rows });
    let Listed { jobs, looked_at, next, .. } = link.call(&list).await?;
    let full = number(jobs.len()) == number(rows);
    let gave_up_after = next.as_ref().filter(|_| !full).map(|_| number(looked_at));
    let next = next.map(|place| JobCursor { listing, place });
    Ok(JobPage { jobs, next, gave_up_after, withheld: false })
}

/// How many of the jobs looked at match, and the first of them.
async fn look(
    link: &mut Link,
    query: &JobQuery,
    window: i32,
    rows: i32,
) -> Result<(Count, Vec<JobSummary>), AdminError> {
    let Some(listing) = query.searched() else { return Ok((Count::Exactly(0), Vec::new())) };
    let list = JobsList { listing, query, place: None, window, rows };
    let Listed { jobs, matching, looked_at, .. } = link.call(&jobs_list(&list)).await?;
    Ok((count(matching, looked_at == i64::from(window)), jobs))
}

/// The page of a query with an id.
pub(super) async fn one(link: &mut Link, query: &JobQuery) -> Result<JobPage, AdminError> {
    let mut jobs = found(link, query).await?;
    jobs.retain(|job| query.lists(job));
    Ok(JobPage { jobs, next: None, gave_up_after: None, withheld: false })
}

/// The job of a query with an id: looked for where it lives, then among the ended; by its id alone
/// among the dead, too.
async fn found(link: &mut Link, query: &JobQuery) -> Result<Vec<JobSummary>, AdminError> {
    let by_id = JobQuery { id: query.id, listing: query.listing, ..JobQuery::default() };
    if let Some(id) = query.id.filter(|_| *query == JobQuery { reveal: query.reveal, ..by_id }) {
        return Ok(link.call(&OneJob(id.0)).await?.into_iter().map(|job| job.summary).collect());
    }
    let mut jobs = Vec::new();
    for listing in [Listing::Live, Listing::Finished] {
        let list = JobsList { listing, query, place: None, window: 1, rows: 1 };
        jobs.append(&mut link.call(&jobs_list(&list)).await?.jobs);
    }
    Ok(jobs)
}

/// The listings in which the job of a query with an id is.
async fn of_one(link: &mut Link, query: &JobQuery) -> Result<Vec<(Listing, Count)>, AdminError> {
    let jobs = found(link, query).await?;
    let counted = |listing| {
        let query = JobQuery { listing, ..query.clone() };
        let found = jobs.iter().filter(|job| query.lists(job)).count();
        (listing, Count::Exactly(number(found)))
    };
    Ok(Listing::ALL.map(counted).to_vec())
}

/// Whether the job has not ended.
pub(in crate::admin) fn is_live(job: &JobSummary) -> bool {
    job.state != State::Finished
}
