//! Handlers that take time, where the benchmark asks for it.

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::env_or;

/// How long the handlers of this process have slept in all, in microseconds.
static SLEPT: AtomicU64 = AtomicU64::new(0);
/// How often.
static SLEEPS: AtomicU64 = AtomicU64::new(0);

/// How many jobs a worker may run at once: what the benchmark asks for, where all have equal slots,
/// or else what the contestant is best with.
pub fn slots<N: TryFrom<usize>>(best: N) -> N {
    equal_slots().and_then(|slots| N::try_from(slots).ok()).unwrap_or(best)
}

/// As many as all contestants have; none where each has its own.
pub(crate) fn equal_slots() -> Option<usize> {
    Some(env_or("SLOTS", 0)).filter(|slots| *slots > 0)
}

/// A part of a large payload.
#[derive(Clone, Serialize, Deserialize)]
pub struct Line {
    id: u64,
    name: String,
    price: f64,
    active: bool,
    note: String,
}

/// As many as make up the kilobytes that the benchmark asks for; none where it does not.
pub fn lines(seq: i64) -> Vec<Line> {
    /// Of the JSON of one.
    const BYTES: usize = 100;
    let line = |id: u64| {
        let mixed = mixed(seq.cast_unsigned().wrapping_add(id));
        Line {
            id,
            name: format!("{mixed:016x}"),
            price: (mixed % 100_000) as f64 / 100.0,
            active: !mixed.is_multiple_of(3),
            note: format!("line {id} of the order, {:03}", mixed % 1000),
        }
    };
    (0..env_or("PAYLOAD_KB", 0) * 1000 / BYTES).map(|id| line(id as u64)).collect()
}

/// Sleeps as long as this job takes: always as long for the same number, and not at all unless the
/// benchmark asks for it.
pub(crate) async fn work(seq: i64) {
    if let Some(range) = asked() {
        let began = Instant::now();
        sleep(length(range, seq)).await;
        SLEPT.fetch_add(u64::try_from(began.elapsed().as_micros()).unwrap_or(0), Relaxed);
        SLEEPS.fetch_add(1, Relaxed);
    }
}

/// How long it took until now, in milliseconds; none when no handler has slept.
pub(crate) fn run_ms() -> Option<f64> {
    let sleeps = SLEEPS.load(Relaxed);
    (sleeps > 0).then(|| SLEPT.load(Relaxed) as f64 / sleeps as f64 / 1000.0)
}

/// How long the work of a job takes in truth, in milliseconds, where as many sleep at once as there
/// are slots, and do nothing else: timers are coarse. Takes about a second.
pub(crate) async fn real_ms() -> Result<Option<f64>> {
    let (Some(slots), Some(range)) = (equal_slots(), asked()) else { return Ok(None) };
    let mean = (range.start() + range.end()) / 2;
    let times = (1_000_000 / mean).clamp(1, 500);
    let sleeper = |slot| async move {
        let began = Instant::now();
        for time in 0..times {
            sleep(length(range, i64::try_from(slot as u64 * times + time).unwrap_or(0))).await;
        }
        began.elapsed().as_secs_f64() * 1000.0
    };
    let sleepers: Vec<_> = (0..slots).map(|slot| tokio::spawn(sleeper(slot))).collect();
    let mut slept = 0.0;
    for sleeper in sleepers {
        slept += sleeper.await?;
    }
    Ok(Some(slept / slots as f64 / times as f64))
}

/// Between how many microseconds and how many a job takes; none when it takes no time.
fn asked() -> Option<&'static RangeInclusive<u64>> {
    static ASKED: OnceLock<Option<RangeInclusive<u64>>> = OnceLock::new();
    let asked = ASKED.get_or_init(|| {
        let least = env_or("WORK_MS", 0);
        let most = env_or("WORK_MS_MOST", least);
        (most > 0).then(|| least * 1000..=most * 1000)
    });
    asked.as_ref()
}

/// Every length between the two is as likely: splitmix64 of the job's number.
fn length(range: &RangeInclusive<u64>, seq: i64) -> Duration {
    let mixed = mixed(seq.cast_unsigned());
    Duration::from_micros(range.start() + mixed % (range.end() - range.start() + 1))
}

fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_as_many_bytes_as_is_reckoned() {
        let line = Line {
            id: 250,
            name: format!("{:016x}", 7),
            price: 123.45,
            active: true,
            note: "line 250 of the order, 123".to_owned(),
        };
        let bytes = serde_json::to_string(&line).map_or(0, |json| json.len() + 1);
        assert!((95..=115).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_job_always_takes_as_long_and_all_lengths_occur() {
        let range = 5_000..=50_000;
        let lengths = || (0..10_000).map(|seq| length(&range, seq));
        let mean = lengths().sum::<Duration>() / 10_000;
        assert!(lengths().eq(lengths()));
        assert!(lengths().min() < Some(Duration::from_micros(5_100)));
        assert!(lengths().max() > Some(Duration::from_micros(49_900)));
        assert!(mean.abs_diff(Duration::from_micros(27_500)) < Duration::from_micros(500));
        assert_eq!(length(&(1_000..=1_000), 7), Duration::from_millis(1));
    }
}
