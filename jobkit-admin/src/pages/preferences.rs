//! Preferences of a browser: the theme, and how often pages refresh.

use axum::http::header::SET_COOKIE;

use crate::context::Context;
use crate::failure::Answer;
use crate::request::preferences::{Refresh, Theme};

const YEAR: u32 = 365 * 24 * 60 * 60;

pub(crate) async fn choose_theme(context: &Context) -> Answer {
    let theme = Theme::named(context.request.must("theme")?);
    keep(context, Theme::COOKIE, theme.as_str())
}

pub(crate) async fn choose_refresh(context: &Context) -> Answer {
    let refresh = Refresh::named(context.request.must("refresh")?);
    keep(context, Refresh::COOKIE, refresh.as_str())
}

/// Sends the browser back with a cookie.
fn keep(context: &Context, cookie: &str, value: &str) -> Answer {
    let mut response = context.redirect("/", "")?;
    let cookie = context.cookie(cookie, value, YEAR);
    // There is no message to flash.
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
