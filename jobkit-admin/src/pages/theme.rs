//! Light or dark.

use axum::http::header::SET_COOKIE;

use crate::frame::Theme;
use crate::router::Answer;
use crate::visit::Visit;

const YEAR: u32 = 365 * 24 * 60 * 60;

pub(crate) async fn choose(visit: &Visit) -> Answer {
    let theme = Theme::named(visit.must("theme")?);
    let mut response = visit.redirect("/", "")?;
    let cookie = visit.cookie(Theme::COOKIE, theme.as_str(), YEAR);
    // Not the flash: there is nothing to say.
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
