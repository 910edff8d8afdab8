//! The jobs that a request selects.

use jobkit::admin::jobs::{JobQuery, Listing};

use super::fields::Fields;
use crate::access::{Access, Redaction};

/// The query of a visitor: the words of the search, and the tab.
pub(crate) fn list_query(request: &Fields, access: &Access) -> Result<JobQuery, String> {
    query(access, request.query("q").unwrap_or(""), request.query("state"))
}

/// The query for these words and this tab. A state in the words takes precedence.
pub(crate) fn query(access: &Access, words: &str, tab: Option<&str>) -> Result<JobQuery, String> {
    let mut query: JobQuery = words.parse().map_err(|error| format!("{error}"))?;
    let named = |name: &str| Listing::ALL.into_iter().find(|listing| listing.as_str() == name);
    let named_state =
        query.listing != Listing::Live || words.split_whitespace().any(|word| word == "state:live");
    if let Some(listing) = tab.and_then(named).filter(|_| !named_state) {
        query.listing = listing;
    }
    query.reveal = access.hidden() == Some(Redaction::Nothing);
    if !query.args.is_empty() && access.hidden().is_none() {
        return Err("Searching payloads requires the permission to see them.".into());
    }
    Ok(query)
}
