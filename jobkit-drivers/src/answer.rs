use jobkit::JobId;
use jobkit::enqueue::EnqueueError;

/// The only id in an answer.
pub(crate) fn only(ids: Vec<JobId>) -> Result<JobId, EnqueueError> {
    ids.first().copied().ok_or_else(|| {
        let error = std::io::Error::other("the server returned no job id");
        EnqueueError::answered(None, &error.to_string(), error)
    })
}
