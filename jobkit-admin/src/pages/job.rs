//! One job, beginning with why it is not running.

use askama::Template;
use chrono::{DateTime, Utc};
use jobkit::JobId;
use jobkit::admin::Payload;
use jobkit::admin::explain::{Explanation, Reason};
use jobkit::admin::jobs::{Cancelled, JobDetail, Rescheduled, State};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::payload;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::names::Names;

#[derive(Template)]
#[template(path = "job.html")]
struct Job<'a> {
    frame: Frame<'a>,
    job: JobDetail,
    explanation: Option<Explanation>,
    args: String,
    metadata: Option<String>,
    result: Option<String>,
    names: Names,
}

impl Job<'_> {
    fn is_live(&self) -> bool {
        !matches!(self.job.summary.state, State::Finished | State::Dead)
    }

    fn is_waiting(&self) -> bool {
        let job = &self.job.summary;
        let own = job.state != State::Running && !job.cancel_requested;
        self.is_live() && own && !self.awaits_batch()
    }

    /// Whether it runs when its batch has ended, and not at another time.
    fn awaits_batch(&self) -> bool {
        let reasons = self.explanation.iter().flat_map(|explanation| &explanation.reasons);
        reasons.into_iter().any(|reason| matches!(reason, Reason::AwaitsBatch(_)))
    }
}

pub(crate) async fn show(context: &Context) -> Answer {
    let (admin, id) = (context.admin(), JobId(context.request.id()?));
    let job = admin.job(id);
    let (job, explanation) = tokio::try_join!(job.get(), job.explain())?;
    let job = job.ok_or(Failure::NotFound)?;
    let title = format!("Job {id}");
    let args = payload::shown(&job.args, context.redaction());
    let shown = |payload: &Payload| payload::shown(payload, context.redaction());
    let (metadata, result) = (job.metadata.as_ref().map(shown), job.result.as_ref().map(shown));
    let failed = job.attempts.iter().filter_map(|attempt| attempt.worker);
    let said = job.reports.iter().map(|report| report.worker);
    let workers = job.summary.worker.into_iter().chain(failed).chain(said);
    let names = Names::of(&admin, workers).await?;
    let frame = Frame::of(context, &title);
    Ok(html(&Job { frame, job, explanation, args, metadata, result, names }))
}

fn page(id: JobId) -> String {
    format!("/jobs/{id}")
}

fn message(id: JobId, cancelled: Cancelled, done: &str) -> Result<String, Failure> {
    match cancelled {
        Cancelled::Now => Ok(format!("Job {id} is {done}.")),
        Cancelled::NotFound => Err(Failure::Conflict(format!("Job {id} has already ended."))),
        _ => Ok(format!("Job {id} is running: its worker has been asked to stop it.")),
    }
}

pub(crate) async fn cancel(context: &Context) -> Answer {
    let id = JobId(context.request.id()?);
    let message = message(id, context.admin().job(id).cancel().await?, "cancelled")?;
    context.redirect(&page(id), &message)
}

pub(crate) async fn discard(context: &Context) -> Answer {
    let id = JobId(context.request.id()?);
    let reason = context.request.field("reason").unwrap_or("discarded from the dashboard");
    let message = message(id, context.admin().job(id).discard(reason).await?, "discarded")?;
    context.redirect(&page(id), &message)
}

pub(crate) async fn reschedule(context: &Context) -> Answer {
    let id = JobId(context.request.id()?);
    let seconds: Option<u32> = context.request.parsed("in_seconds")?;
    let at: Option<DateTime<Utc>> =
        seconds.map(|seconds| Utc::now() + chrono::Duration::seconds(seconds.into()));
    let message = match context.admin().job(id).reschedule(at).await? {
        Rescheduled::Moved => match &at {
            Some(at) => format!("Job {id} is due at {}.", show::utc(at)),
            None => format!("Job {id} is due now."),
        },
        Rescheduled::Running => return Err(Failure::Conflict(format!("Job {id} is running."))),
        Rescheduled::NotFound => {
            return Err(Failure::Conflict(format!("Job {id} has already ended.")));
        }
        _ => return Err(Failure::Conflict(format!("Job {id} is being cancelled."))),
    };
    context.redirect(&page(id), &message)
}
