/// The maximum number of log lines about items of one sort, of which there may be thousands.
const LINES: usize = 10;

/// The first few items, to name in the log, and how many more there are.
pub(super) fn some<T>(all: impl IntoIterator<Item = T>) -> (Vec<T>, usize) {
    let mut all = all.into_iter();
    let first = all.by_ref().take(LINES).collect();
    (first, all.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_the_rest_is_counted() {
        assert_eq!(some([1, 2]), (vec![1, 2], 0));
        assert_eq!(some(1..=5000), ((1..=10).collect(), 4990));
    }
}
