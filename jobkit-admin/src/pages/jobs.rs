//! Jobs: by state, and searched.

use askama::Template;
use jobkit::{Count, JobPage, JobQuery, JobSummary, Listing};

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs<'a> {
    frame: Frame<'a>,
    listing: Listing,
    /// The words of the search, but for the state.
    words: &'a str,
    /// What is wrong with them.
    wrong: Option<String>,
    tabs: Vec<(Listing, Count)>,
    page: Vec<JobSummary>,
    next: Option<String>,
    gave_up_after: Option<u32>,
}

impl Jobs<'_> {
    /// Whether the list is of jobs that can still be ended.
    fn is_live(&self) -> bool {
        !matches!(self.listing, Listing::Finished | Listing::Discarded | Listing::Cancelled)
    }

    fn is_current(&self, listing: &Listing) -> bool {
        self.listing == *listing
    }

    /// The time that matters in this list.
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

/// The query that a visitor asks for: the words, and the tab beside them.
pub(crate) fn asked(visit: &Visit) -> Result<JobQuery, String> {
    let text = |name| visit.query(name).or_else(|| visit.field(name));
    let words = text("q").unwrap_or("");
    let mut query: JobQuery = words.parse().map_err(|error| format!("{error}"))?;
    let named = |name: &str| Listing::ALL.into_iter().find(|listing| listing.as_str() == name);
    if let Some(listing) = text("state").and_then(named) {
        query.listing = listing;
    }
    query.reveal = visit.redaction() == Some(crate::Redaction::Nothing);
    if !query.args.is_empty() && visit.redaction().is_none() {
        return Err("Payloads cannot be searched by those who may not see them.".into());
    }
    Ok(query)
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let (words, frame) = (visit.query("q").unwrap_or(""), visit.frame("Jobs"));
    let query = match asked(visit) {
        Ok(query) => query,
        Err(wrong) => {
            let (listing, wrong) = (Listing::Live, Some(wrong));
            let (tabs, page, next, gave_up_after) = (Vec::new(), Vec::new(), None, None);
            return Ok(html(&Jobs {
                frame,
                listing,
                words,
                wrong,
                tabs,
                page,
                next,
                gave_up_after,
            }));
        }
    };
    let after = visit.query("after").and_then(|cursor| cursor.parse().ok());
    let admin = visit.admin();
    let (tabs, page) =
        tokio::try_join!(admin.count_listings(&query), admin.jobs(&query, after, JobPage::ROWS),)?;
    let JobPage { jobs, next, gave_up_after, .. } = page;
    let listing = query.listing;
    let next = next.map(|next| {
        let (words, next) = (show::url(words), show::url(&next.to_string()));
        format!("/jobs?state={}&q={words}&after={next}", listing.as_str())
    });
    let wrong = None;
    Ok(html(&Jobs { frame, listing, words, wrong, tabs, page: jobs, next, gave_up_after }))
}
