//! What requests about batches say.

use jobkit::Admin;
use jobkit::admin::batches::Members;
use jobkit::batch::BatchId;

use super::fields::Fields;
use crate::access::{Access, Permission};
use crate::failure::Failure;

/// Whether only batches that have not ended are listed: `state=open`.
pub(crate) fn is_open(request: &Fields) -> Result<bool, Failure> {
    match request.query("state") {
        None | Some("" | "all") => Ok(false),
        Some("open") => Ok(true),
        Some(state) => Err(Failure::Invalid(format!("“{state}” is neither “open” nor “all”."))),
    }
}

/// Which members are listed: `only=live`, `finished`, `dead` or `all`.
pub(crate) fn members(request: &Fields) -> Result<Option<Members>, Failure> {
    let Some(only) = request.query("only").filter(|only| !only.is_empty()) else {
        return Ok(None);
    };
    let known = Members::ALL.into_iter().find(|which| which.as_str() == only);
    let unknown = || Failure::Invalid(format!("“{only}” is not live, finished, dead or all."));
    known.map(Some).ok_or_else(unknown)
}

/// Whoever cancels a batch needs the permission to cancel jobs as well as that for bulk actions.
pub(crate) fn may_cancel(access: &Access) -> Result<(), Failure> {
    if access.may(Permission::Cancel) { Ok(()) } else { Err(Failure::NotFound) }
}

/// The reason, which is required.
pub(crate) fn reason(text: &str) -> Result<&str, Failure> {
    let missing = || Failure::Invalid("“reason” is missing.".into());
    Some(text.trim()).filter(|text| !text.is_empty()).ok_or_else(missing)
}

/// Why there is nothing to cancel: it has ended, or there is no such batch.
pub(crate) async fn ended(admin: &Admin, id: BatchId) -> Result<Failure, Failure> {
    admin.batch(id).get().await?.ok_or(Failure::NotFound)?;
    Ok(Failure::Conflict(format!("Batch {id} has already ended.")))
}
