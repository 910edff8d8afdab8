//! Small charts in table rows, drawn by the server.

use std::fmt::Write;

use crate::format::show;

/// The size of a chart, in its own units.
const HEIGHT: f64 = 22.0;
const STEP: usize = 4;

/// Counts of the last hours, as bars and in words.
pub(crate) struct Spark {
    pub(crate) width: usize,
    /// The path of all bars.
    pub(crate) bars: String,
    pub(crate) text: String,
}

impl Spark {
    /// A chart of numbers by hour, the oldest first; `None` if all are zero.
    pub(crate) fn of(hours: &[u32]) -> Option<Self> {
        let most = hours.iter().copied().max().filter(|most| *most > 0)?;
        let mut bars = String::new();
        for (at, number) in hours.iter().enumerate().filter(|(_, number)| **number > 0) {
            // Even one of many stays visible.
            let height = (HEIGHT * f64::from(*number) / f64::from(most)).max(1.5);
            let _written = write!(bars, "M{} {HEIGHT}v-{height:.1}h3v{height:.1}z", at * STEP);
        }
        let sum: u64 = hours.iter().map(|number| u64::from(*number)).sum();
        let (sum, most, hours) = (show::large(&sum), show::many(&most), hours.len());
        let text = format!("{sum} in the last {hours} hours, at most {most} in one");
        Some(Self { width: hours * STEP, bars, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_is_of_the_fullest_hour_and_none_is_invisible() {
        assert!(Spark::of(&[0; 24]).is_none());
        let spark = Spark::of(&[1000, 0, 1]).expect("there is something to see");
        assert_eq!(spark.bars, "M0 22v-22.0h3v22.0zM8 22v-1.5h3v1.5z");
        assert_eq!(spark.text, "1,001 in the last 3 hours, at most 1,000 in one");
    }
}
