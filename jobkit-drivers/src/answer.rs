use jobkit::{Error, JobId};

/// The only id of an answer.
pub(crate) fn only(ids: Vec<JobId>) -> Result<JobId, Error> {
    ids.first().copied().ok_or_else(|| {
        let error = std::io::Error::other("the server told no id of the job");
        Error::answered(None, &error.to_string(), error)
    })
}
