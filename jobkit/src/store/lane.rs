/// Where ready jobs of a queue stand in the order of a claim: by priority, and within a priority
/// those that hold a permit first. A claim keeps a mark for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(usize);

impl Lane {
    /// How many a queue has.
    pub(crate) const COUNT: usize = 14;

    /// That of jobs of this priority that hold a permit.
    pub(crate) fn with_permit(priority: i16) -> Self {
        Self(usize::try_from((priority.clamp(-3, 3) + 3) * 2).unwrap_or(0))
    }

    /// By its place in the order. One that is out of range, as of a priority that somebody wrote by
    /// hand, is the last.
    pub(crate) fn at(index: usize) -> Self {
        Self(index.min(Self::COUNT - 1))
    }

    /// Its place in the order, from 0.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_go_by_priority_and_permit() {
        let lanes = [-3, -2, 0, 3].map(|priority| Lane::with_permit(priority).index());
        assert_eq!(lanes, [0, 2, 6, 12]);
        assert_eq!(Lane::with_permit(99), Lane::at(12));
        assert_eq!(Lane::at(99), Lane::at(Lane::COUNT - 1));
    }
}
