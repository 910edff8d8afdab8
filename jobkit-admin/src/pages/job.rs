//! One job: first of all, why it does not run.

use askama::Template;
use chrono::{DateTime, Utc};
use jobkit::JobId;
use jobkit::admin::explain::Explanation;
use jobkit::admin::jobs::{Cancelled, JobDetail, Rescheduled, State};

use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::payload;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "job.html")]
struct Job<'a> {
    frame: Frame<'a>,
    job: JobDetail,
    explanation: Option<Explanation>,
    args: String,
    metadata: Option<String>,
}

impl Job<'_> {
    fn is_live(&self) -> bool {
        !matches!(self.job.summary.state, State::Finished | State::Dead)
    }

    fn is_waiting(&self) -> bool {
        let job = &self.job.summary;
        self.is_live() && job.state != State::Running && !job.cancel_requested
    }
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let (admin, id) = (visit.admin(), JobId(visit.id()?));
    let (job, explanation) = tokio::try_join!(admin.job(id), admin.explain(id))?;
    let job = job.ok_or(Failure::NotFound)?;
    let title = format!("Job {id}");
    let args = payload::shown(&job.args, visit.redaction());
    let metadata = job.metadata.as_ref();
    let metadata = metadata.map(|metadata| payload::shown(metadata, visit.redaction()));
    Ok(html(&Job { frame: visit.frame(&title), job, explanation, args, metadata }))
}

fn page(id: JobId) -> String {
    format!("/jobs/{id}")
}

fn said(id: JobId, cancelled: Cancelled, done: &str) -> Result<String, Failure> {
    match cancelled {
        Cancelled::Now => Ok(format!("Job {id} is {done}.")),
        Cancelled::NotFound => Err(Failure::Conflict(format!("Job {id} has ended already."))),
        _ => Ok(format!("Job {id} runs: its worker has been asked to stop it.")),
    }
}

pub(crate) async fn cancel(visit: &Visit) -> Answer {
    let id = JobId(visit.id()?);
    let said = said(id, visit.admin().cancel(id).await?, "cancelled")?;
    visit.redirect(&page(id), &said)
}

pub(crate) async fn discard(visit: &Visit) -> Answer {
    let id = JobId(visit.id()?);
    let reason = visit.field("reason").unwrap_or("discarded from the dashboard");
    let said = said(id, visit.admin().discard(id, reason).await?, "discarded")?;
    visit.redirect(&page(id), &said)
}

pub(crate) async fn reschedule(visit: &Visit) -> Answer {
    let id = JobId(visit.id()?);
    let seconds: Option<u32> = visit.parsed("in_seconds")?;
    let at: Option<DateTime<Utc>> =
        seconds.map(|seconds| Utc::now() + chrono::Duration::seconds(seconds.into()));
    let said = match visit.admin().reschedule(id, at).await? {
        Rescheduled::Moved => match &at {
            Some(at) => format!("Job {id} is due at {}.", show::utc(at)),
            None => format!("Job {id} is due now."),
        },
        Rescheduled::Running => return Err(Failure::Conflict(format!("Job {id} runs."))),
        Rescheduled::NotFound => {
            return Err(Failure::Conflict(format!("Job {id} has ended already.")));
        }
        _ => return Err(Failure::Conflict(format!("Job {id} is being cancelled."))),
    };
    visit.redirect(&page(id), &said)
}
