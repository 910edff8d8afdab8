//! What visitors choose for their own browsers: light or dark, and how often pages ask again.

use axum::http::header::SET_COOKIE;

use crate::frame::{Refresh, Theme};
use crate::router::Answer;
use crate::visit::Visit;

const YEAR: u32 = 365 * 24 * 60 * 60;

pub(crate) async fn choose_theme(visit: &Visit) -> Answer {
    let theme = Theme::named(visit.must("theme")?);
    keep(visit, Theme::COOKIE, theme.as_str())
}

pub(crate) async fn choose_refresh(visit: &Visit) -> Answer {
    let refresh = Refresh::named(visit.must("refresh")?);
    keep(visit, Refresh::COOKIE, refresh.as_str())
}

/// Sends the browser back with something to keep.
fn keep(visit: &Visit, cookie: &str, value: &str) -> Answer {
    let mut response = visit.redirect("/", "")?;
    let cookie = visit.cookie(cookie, value, YEAR);
    // Not the flash: there is nothing to say.
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
