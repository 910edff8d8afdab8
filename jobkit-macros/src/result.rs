//! The result of a job.

use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};

/// A result is kept with the history of its job, so it needs a retention.
pub(crate) fn refuse_unkept(args: &Args, mistakes: &mut Mistakes) {
    let unkept = args.retention.as_ref().filter(|retention| retention.value.is_none());
    if let (Some(Given { name, .. }), Some(_)) = (&args.result, unkept) {
        let message = "a `result` is kept for the `retention` of its job, and `none` keeps \
                       nothing: leave one of them out";
        mistakes.add(name, message);
    }
}
