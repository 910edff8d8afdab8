//! Acknowledging what needs attention.

use serde::Deserialize;
use serde_json::json;

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::request::time::time;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    what: String,
    #[serde(default)]
    subject: String,
    /// The time of the overview that showed it; by default now.
    seen: Option<String>,
    #[serde(default)]
    reason: String,
}

pub(crate) async fn acknowledge(context: &Context) -> Answer {
    let Item { what, subject, seen, reason } = body(context)?;
    let seen = seen.as_deref().map(time).transpose()?;
    match context.admin().attention(&what, &subject).acknowledge(seen, &reason).await? {
        true => Ok(done()),
        false => Err(Failure::Invalid(format!("Unknown attention item “{what}”."))),
    }
}

pub(crate) async fn unacknowledge(context: &Context) -> Answer {
    let Item { what, subject, .. } = body(context)?;
    let changed = context.admin().attention(&what, &subject).unacknowledge().await?;
    Ok(answer(json!({"changed": changed})))
}
