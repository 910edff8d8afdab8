/// A position in the order in which a claim takes ready jobs of a queue: by priority, and within a
/// priority jobs with a permit first. A claim keeps a mark for each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(usize);

impl Lane {
    /// The number of lanes of a queue.
    pub(crate) const COUNT: usize = 14;

    /// The lane of jobs of this priority that hold a permit.
    pub(crate) fn with_permit(priority: i16) -> Self {
        Self(usize::try_from((priority.clamp(-3, 3) + 3) * 2).unwrap_or(0))
    }

    /// The lane at this place in the order. One out of range, such as of a priority that somebody
    /// wrote by hand, is the last.
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
