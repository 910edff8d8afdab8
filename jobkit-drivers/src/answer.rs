use jobkit::{Error, JobId};

/// The only id in an answer.
pub(crate) fn only(ids: Vec<JobId>) -> Result<JobId, Error> {
    ids.first().copied().ok_or_else(|| {
        let error = std::io::Error::other("the server returned no job id");
        Error::answered(None, &error.to_string(), error)
    })
}
