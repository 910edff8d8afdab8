//! Jobs by state, with a search.

use askama::Template;
use jobkit::JobId;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::admin::jobs::{Ended, JobPage, JobQuery, JobSummary, Listing};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::jobs::list_query;

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs<'a> {
    frame: Frame<'a>,
    listing: Listing,
    /// The words of the search, without the state.
    words: String,
    /// What is wrong with them, if anything.
    wrong: Option<String>,
    tabs: Vec<(Listing, Count)>,
    page: Vec<JobSummary>,
    /// The first page, if this is a later one.
    first: Option<String>,
    next: Option<String>,
    gave_up_after: Option<u32>,
    /// Whether the search may have missed matching jobs.
    withheld: bool,
}

/// Actions on selected jobs: the verb, the label of its button, and the permission.
const VERBS: [(&str, &str, &str); 3] = [
    ("reschedule", "Run now…", "reschedule"),
    ("cancel", "Cancel…", "cancel"),
    ("discard", "Discard…", "discard"),
];

impl<'a> Jobs<'a> {
    /// The page for an invalid query.
    fn refused(frame: Frame<'a>, words: Option<&str>, wrong: String) -> Self {
        Self {
            frame,
            listing: Listing::Live,
            words: words.unwrap_or("").to_owned(),
            wrong: Some(wrong),
            tabs: Vec::new(),
            page: Vec::new(),
            first: None,
            next: None,
            gave_up_after: None,
            withheld: false,
        }
    }

    /// The actions on selected rows. There are none for ended jobs or without permission.
    fn verbs(&self) -> Vec<(&'static str, &'static str)> {
        let may = |permission| self.frame.may("bulk") && self.frame.may(permission);
        let waits = !matches!(self.listing, Listing::Running | Listing::Ready);
        let fits = |verb: &&str| self.is_live() && (waits || *verb != "reschedule");
        let verbs = VERBS.into_iter().filter(|(verb, _, permission)| fits(verb) && may(permission));
        verbs.map(|(verb, label, _)| (verb, label)).collect()
    }

    /// Whether the jobs of the list can still be ended.
    fn is_live(&self) -> bool {
        !matches!(self.listing, Listing::Finished | Listing::Discarded | Listing::Cancelled)
    }

    /// The number on a tab; `None` if counting stopped early, since the list may then show more
    /// than was counted.
    fn number(&self, count: &Count) -> Option<String> {
        let ended = matches!(count, Count::AtLeast(_)) && !self.words.is_empty();
        (!ended).then(|| show::count(count))
    }

    fn is_current(&self, listing: &Listing) -> bool {
        self.listing == *listing
    }

    /// The time that this list shows.
    fn time<'j>(&self, job: &'j JobSummary) -> &'j chrono::DateTime<chrono::Utc> {
        match self.listing {
            Listing::Live => &job.created_at,
            Listing::Ready | Listing::Scheduled | Listing::Retrying => &job.run_at,
            _ => job.since.as_ref().unwrap_or(&job.created_at),
        }
    }

    fn time_label(&self) -> &'static str {
        match self.listing {
            Listing::Live => "Enqueued",
            Listing::Ready | Listing::Scheduled | Listing::Retrying => "Due",
            Listing::Running => "Running since",
            Listing::Blocked => "Blocked since",
            _ => "Ended",
        }
    }
}

/// The words of a query without its state, which a tab shows.
fn words(query: &JobQuery) -> String {
    let listing = query.ended.map_or(Listing::Live, Ended::listing);
    JobQuery { listing, ..query.clone() }.to_string()
}

/// If only an id was searched for, the page of the job or dead letter with it.
async fn page_of(context: &Context, id: &str) -> Result<Option<String>, Failure> {
    let Ok(id) = id.trim().parse::<i64>() else { return Ok(None) };
    let admin = context.admin();
    let (job, letter) =
        tokio::try_join!(admin.job(JobId(id)).get(), admin.dead_letter(DeadLetterId(id)).get())?;
    Ok(match (job, letter) {
        (Some(_), _) => Some(format!("/jobs/{id}")),
        (None, Some(_)) => Some(format!("/dead/{id}")),
        (None, None) => None,
    })
}

pub(crate) async fn list(context: &Context) -> Answer {
    if let Some(page) = page_of(context, context.request.query("q").unwrap_or("")).await? {
        return context.moved(&page);
    }
    let frame = Frame::of(context, "Jobs");
    let query = match list_query(&context.request, &context.access) {
        Ok(query) => query,
        Err(wrong) => return Ok(html(&Jobs::refused(frame, context.request.query("q"), wrong))),
    };
    let after = context.request.query("after").and_then(|cursor| cursor.parse().ok());
    let is_first = after.is_none();
    let admin = context.admin();
    let (tabs, page) =
        tokio::try_join!(admin.count_listings(&query), admin.jobs(&query, after, JobPage::ROWS),)?;
    let JobPage { jobs, next, gave_up_after, withheld, .. } = page;
    let (listing, words, wrong) = (query.listing, words(&query), None);
    let first = format!("/jobs?state={}&q={}", listing.as_str(), show::url(&words));
    let next = next.map(|next| format!("{first}&after={}", show::url(&next.to_string())));
    let first = Some(first).filter(|_| !is_first);
    let page = jobs;
    Ok(html(&Jobs {
        frame,
        listing,
        words,
        wrong,
        tabs,
        page,
        first,
        next,
        gave_up_after,
        withheld,
    }))
}
