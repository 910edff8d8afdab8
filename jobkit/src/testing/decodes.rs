use serde::de::DeserializeOwned;

use crate::JobType;
use crate::encryption;
use crate::stored::Stored;

/// Decodes a payload of this version, as an old release stored it, in the way a worker does. Panics
/// if it cannot be read, with the reason and the path inside it. Like
/// [`Registration::reads`](crate::Registration::reads), but returns the job.
///
/// ```
/// # use jobkit::{Job, JobContext, job};
/// # use serde::{Deserialize, Serialize};
/// use jobkit::testing::assert_decodes;
///
/// #[derive(Serialize, Deserialize)]
/// #[job]
/// struct SendReceipt {
///     order_id: i64,
///     #[serde(default)]
///     copies: u8, // added later
/// }
/// # impl Job for SendReceipt {
/// #     async fn run(self, _cx: JobContext) -> jobkit::Result { Ok(()) }
/// # }
/// let job = assert_decodes::<SendReceipt>(1, r#"{"order_id": 7}"#);
/// assert_eq!((job.order_id, job.copies), (7, 0));
/// ```
#[track_caller]
pub fn assert_decodes<J: JobType + DeserializeOwned>(version: u16, payload: &str) -> J {
    let kind = J::POLICY.kind;
    let opened = encryption::opened(&J::POLICY, kind, version, payload.as_bytes());
    let opened = opened.unwrap_or_else(|error| panic!("{kind}: {error}"));
    let job = Stored::new(&opened, version, &J::POLICY).job();
    job.unwrap_or_else(|error| panic!("{kind}: {error}"))
}
