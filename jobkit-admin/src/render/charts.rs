//! Charts, drawn by the server: outcomes of attempts, and how long jobs waited.

use std::time::Duration;

use chrono::{DateTime, Utc};
use jobkit::admin::measures::{MeasureFilter, MeasurePoint, MeasureSeries, Measures};

use crate::context::Context;
use crate::failure::Failure;
use crate::format::show;

/// The size of a chart, in its own units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// The ranges of charts: the name, and the lengths of the range and of a bar in minutes.
const RANGES: [(&str, u64, u64); 4] =
    [("1h", 60, 1), ("6h", 360, 5), ("24h", 1440, 20), ("7d", 10_080, 120)];

/// A part of a bar: its style and position.
pub(crate) struct Part {
    pub(crate) look: &'static str,
    pub(crate) y: String,
    pub(crate) height: String,
}

pub(crate) struct Bar {
    pub(crate) x: String,
    pub(crate) title: String,
    pub(crate) parts: Vec<Part>,
}

/// The two charts, and the numbers that belong to them.
pub(crate) struct Charts {
    pub(crate) bars: Vec<Bar>,
    pub(crate) bar_width: String,
    /// The largest value of a bar.
    pub(crate) most: String,
    /// How long a bar is.
    pub(crate) bucket: Duration,
    pub(crate) half: String,
    pub(crate) tail: String,
    /// The longest wait that is shown.
    pub(crate) longest: String,
    /// The beginning and the middle.
    pub(crate) marks: [String; 2],
    pub(crate) sum: Sum,
    pub(crate) range: &'static str,
}

/// The sums over the whole range.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) finished: u64,
    pub(crate) retried: u64,
    pub(crate) buried: u64,
    /// Of the newest bar in which something started.
    pub(crate) wait: Option<(Duration, Duration)>,
    pub(crate) run: Option<(Duration, Duration)>,
}

impl Sum {
    /// The percentage of failed attempts.
    pub(crate) fn failure_rate(&self) -> Option<String> {
        let failed = self.retried + self.buried;
        let all = failed + self.finished;
        (all > 0).then(|| format!("{:.1} %", 100.0 * failed as f64 / all as f64))
    }
}

impl Charts {
    /// The charts of the range that the query asks for.
    pub(crate) async fn of(context: &Context, filter: MeasureFilter) -> Result<Self, Failure> {
        let range = context.request.query("range").unwrap_or("1h");
        let known = RANGES.into_iter().find(|(name, ..)| *name == range);
        let (range, since, bucket) = known.unwrap_or(RANGES[0]);
        let minutes = |minutes| Duration::from_secs(60 * minutes);
        let series = context.admin().measures(&filter, minutes(since), minutes(bucket)).await?;
        Ok(Self::drawn(&series, range))
    }

    /// The choice of a range: its name, and whether it is this one.
    pub(crate) fn ranges(&self) -> [(&'static str, bool); 4] {
        RANGES.map(|(name, ..)| (name, name == self.range))
    }

    fn drawn(series: &MeasureSeries, range: &'static str) -> Self {
        let points = &series.points;
        let most = points.iter().map(|point| shown(&point.measures)).max().unwrap_or(0).max(1);
        let step = WIDTH / points.len().max(1) as f64;
        let bars = points.iter().enumerate();
        let bars = bars.map(|(n, point)| bar(point, n as f64 * step, most)).collect();
        let waits = |part| move |point: &MeasurePoint| point.measures.wait.percentile(part);
        let longest = points.iter().filter_map(waits(0.95)).max().unwrap_or_default();
        let line = |part| line(points.iter().map(waits(part)), step, longest);
        let at = |n: usize| points.get(n).map_or(DateTime::UNIX_EPOCH, |point| point.at);
        Self {
            bars,
            bar_width: format!("{:.2}", (step * 0.82).max(1.0)),
            most: show::number(i64::try_from(most).unwrap_or(i64::MAX)),
            bucket: series.bucket,
            half: line(0.5),
            tail: line(0.95),
            longest: show::span(&longest),
            marks: [at(0), at(points.len() / 2)].map(|time| clock(&time, range)),
            sum: sum(points),
            range,
        }
    }
}

/// The time below a chart, by UTC.
fn clock(time: &DateTime<Utc>, range: &str) -> String {
    time.format(if range == "7d" { "%d %b %H:%M" } else { "%H:%M UTC" }).to_string()
}

/// A bar with its outcomes.
fn shown(measures: &Measures) -> u64 {
    measures.finished + measures.retried + measures.buried
}

fn bar(point: &MeasurePoint, x: f64, most: u64) -> Bar {
    let Measures { finished, retried, buried, .. } = point.measures;
    let mut from = HEIGHT;
    let looks = [("good", finished), ("warn", retried), ("bad", buried)];
    let parts = looks.into_iter().filter(|(_, number)| *number > 0).map(|(look, number)| {
        // Even one among many stays visible.
        let height = (HEIGHT * number as f64 / most as f64).max(1.5);
        from -= height;
        Part { look, y: format!("{:.1}", from.max(0.0)), height: format!("{height:.1}") }
    });
    let parts = parts.collect();
    let at = point.at.format("%H:%M UTC");
    let title = format!("{at}: {finished} finished, {retried} retried, {buried} dead");
    Bar { x: format!("{x:.1}"), title, parts }
}

/// The path of a line, with gaps where nothing was measured.
fn line(values: impl Iterator<Item = Option<Duration>>, step: f64, longest: Duration) -> String {
    let (mut path, mut pen) = (String::new(), 'M');
    for (n, value) in values.enumerate() {
        let Some(value) = value else {
            pen = 'M';
            continue;
        };
        let part = value.as_secs_f64() / longest.as_secs_f64().max(1e-6);
        let (x, y) = ((n as f64 + 0.5) * step, HEIGHT - (HEIGHT - 4.0) * part.min(1.0) - 2.0);
        path.push_str(&format!("{pen}{x:.1} {y:.1}"));
        // A lone bucket is a dot.
        path.push_str("h.1");
        pen = 'L';
    }
    path
}

fn sum(points: &[MeasurePoint]) -> Sum {
    let mut sum = Sum::default();
    for MeasurePoint { measures, .. } in points {
        sum.finished += measures.finished;
        sum.retried += measures.retried;
        sum.buried += measures.buried;
        let both = |half: Option<Duration>, tail: Option<Duration>| half.zip(tail);
        let (wait, run) = (&measures.wait, &measures.run);
        sum.wait = both(wait.percentile(0.5), wait.percentile(0.95)).or(sum.wait);
        sum.run = both(run.percentile(0.5), run.percentile(0.95)).or(sum.run);
    }
    sum
}
