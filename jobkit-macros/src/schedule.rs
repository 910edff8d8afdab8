//! When a job recurs.

use syn::LitStr;

use self::times::Times;
use crate::mistakes::Mistakes;

#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of jobkit, by a link: there is more in it than has to be checked"
)]
mod times;

/// Checks the text as a worker would.
pub(crate) fn read(text: LitStr, mistakes: &mut Mistakes) -> Option<LitStr> {
    match text.value().parse::<Times>() {
        Ok(_) => Some(text),
        Err(error) => {
            mistakes.add(&text, format_args!("this is not a valid schedule: {error}"));
            None
        }
    }
}
