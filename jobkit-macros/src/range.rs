//! Ranges of whole numbers.

use std::ops::RangeInclusive;

use crate::literal::Integer;
use crate::mistakes::Mistakes;
use crate::parse::Given;

/// The valid numbers of a setting.
pub(crate) struct Range {
    pub(crate) numbers: RangeInclusive<i128>,
    pub(crate) in_words: &'static str,
}

/// The number, if it is valid.
pub(crate) fn integer<N: TryFrom<i128>>(
    given: Option<&Given<Integer>>,
    range: &Range,
    mistakes: &mut Mistakes,
) -> Option<N> {
    let Given { name, value: Integer { value, written } } = given?;
    if range.numbers.contains(value) {
        return N::try_from(*value).ok();
    }
    mistakes.add(written, format_args!("`{name}` is a number {}", range.in_words));
    None
}
