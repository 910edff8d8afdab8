//! As many slots for every contestant, and jobs that take time.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Stage;
use super::contestant::Contestant;
use super::drain::{self, Drain, costs, number};
use super::record::Figures;
use crate::meter::Meter;

/// The slots of [`offered`].
const SLOTS: usize = 200;
/// How much of what they could do is offered.
const SHARE: f64 = 0.9;
/// By how much a wait grows, and by how many milliseconds, when a contestant falls behind.
const GROWS: (f64, f64) = (1.3, 5.0);
/// Who was not even offered this much of what was asked for has held up its producer.
const HELD: f64 = 0.98;

/// The knob that all contestants obey alike.
pub(crate) fn knob(slots: usize) -> (&'static str, String) {
    ("SLOTS", slots.to_string())
}

/// A backlog of jobs of a millisecond.
pub(crate) async fn brief(
    stage: &Stage,
    contestant: &Contestant,
    slots: usize,
    jobs: usize,
) -> Result<Figures> {
    let brief = Drain { slots: Some(slots), work_ms: Some(1), ..Drain::of(slots * jobs) };
    Ok(drain::run(stage, contestant, brief).await?.1)
}

/// Jobs of 5 to 50 ms, offered so that the slots are nearly always busy.
pub(crate) async fn offered(
    stage: &Stage,
    contestant: &Contestant,
    seconds: usize,
) -> Result<Figures> {
    let url = stage.database(contestant).await?;
    let task = ["offered".to_owned(), SHARE.to_string(), seconds.to_string()];
    let mut knobs = vec![knob(SLOTS)];
    knobs.extend([("WORK_MS", "5".to_owned()), ("WORK_MS_MOST", "50".to_owned())]);
    let mut crew = stage.crew(contestant, &url, &task, knobs, 1).await?;
    let meter = Meter::of(&stage.server.admin, crew.pids()).await?;
    crew.go().await?;
    let ends = crew.ends(Duration::from_secs(seconds as u64 + 60)).await?;
    let end = &ends[0];
    let (sent, begun) = (number(end, "sent")?, number(end, "begun")?);
    let reading = meter.stop(&stage.server.admin, (begun as usize).max(1)).await?;
    crew.leave().await?;
    ensure!(end["stopped"] != true, "it stopped working: {begun} of {sent} jobs have begun");
    let mut figures = costs(&reading);
    figures.extend(course(end)?);
    Ok(figures)
}

/// What a stream of jobs gave, by what its program ends with.
fn course(end: &Value) -> Result<Figures> {
    let [asked, offered, done] =
        ["asked_per_s", "offered_per_s", "done_per_s"].map(|name| number(end, name));
    let (asked, offered, done) = (asked?, offered?, done?);
    let missing = number(&end["wait"], "missing")?;
    ensure!(
        missing == 0.0,
        "it falls behind, {done:.0}/s of {offered:.0}: {missing} jobs have not begun in time"
    );
    let [middle, last] = [0, 1].map(|third| number(&end["thirds"][third], "p50"));
    let (middle, last) = (middle?, last?);
    let grew = last - middle;
    let grows = last > middle * GROWS.0 && grew > GROWS.1;
    let behind = grows || offered < asked * HELD;
    let mut figures = Figures::from([
        ("p50", number(&end["wait"], "p50")?),
        ("p99", number(&end["wait"], "p99")?),
        ("jobs_per_s", done),
        ("offered_per_s", offered),
        ("of_asked", done / asked),
        ("left", number(end, "left")?),
        ("grew", grew),
        ("behind", f64::from(u8::from(behind))),
    ]);
    figures.extend(shares(SLOTS, done, end));
    Ok(figures)
}

/// How long a job took by itself, and how long in this run, and what the slots would have done if
/// none of them had ever stood idle.
pub(crate) fn shares(slots: usize, jobs_per_s: f64, end: &Value) -> Figures {
    let mut figures = Figures::new();
    for (name, share) in [("real_ms", "of_best"), ("run_ms", "busy")] {
        if let Some(ms) = end[name].as_f64() {
            figures.extend([(name, ms), (share, jobs_per_s * ms / 1000.0 / slots as f64)]);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_is_what_the_slots_did_of_what_they_could() {
        let end = json!({"real_ms": 2.0, "run_ms": 1.5});
        let expected = [("busy", 0.75), ("of_best", 1.0), ("real_ms", 2.0), ("run_ms", 1.5)];
        assert_eq!(shares(20, 10_000.0, &end), Figures::from(expected));
        assert!(shares(20, 10_000.0, &json!({"real_ms": null, "run_ms": null})).is_empty());
    }

    #[test]
    fn who_waits_longer_and_longer_falls_behind() {
        let end = |middle, last, missing| {
            json!({
                "done_per_s": 6000.0, "offered_per_s": 6500.0, "asked_per_s": 6500.0, "left": 200,
                "wait": {"p50": 5.0, "p99": 9.0, "missing": missing},
                "thirds": [{"p50": middle}, {"p50": last}],
            })
        };
        let behind = |middle, last| {
            let course = course(&end(middle, last, 0));
            course.expect("all figures are there")["behind"] > 0.0
        };
        assert!(behind(100.0, 180.0));
        assert!(!behind(100.0, 120.0));
        assert!(!behind(1.0, 5.0));
        let mut held = end(1.0, 1.0, 0);
        held["asked_per_s"] = json!(7000.0);
        assert_eq!(course(&held).expect("all figures are there")["behind"], 1.0);
        let why = course(&end(1.0, 2.0, 7)).expect_err("jobs have not begun").to_string();
        assert_eq!(why, "it falls behind, 6000/s of 6500: 7 jobs have not begun in time");
    }
}
