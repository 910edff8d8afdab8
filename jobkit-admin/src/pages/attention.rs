//! Acknowledging what needs attention.

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::request::time::time;

pub(crate) async fn acknowledge(context: &Context) -> Answer {
    let what = context.request.must("what")?;
    let subject = context.request.field("subject").unwrap_or("");
    let seen = context.request.field("seen").map(time).transpose()?;
    let reason = context.request.field("reason").unwrap_or("");
    if !context.admin().attention(what, subject).acknowledge(seen, reason).await? {
        return Err(Failure::Invalid(format!("Unknown attention item “{what}”.")));
    }
    context.redirect("/", "Acknowledged until it happens again.")
}

pub(crate) async fn unacknowledge(context: &Context) -> Answer {
    let what = context.request.must("what")?;
    let subject = context.request.field("subject").unwrap_or("");
    let message = match context.admin().attention(what, subject).unacknowledge().await? {
        true => "The acknowledgement was withdrawn.",
        false => "It was not acknowledged.",
    };
    context.redirect("/", message)
}
