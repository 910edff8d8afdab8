//! How long jobs wait for an idle worker, and what that costs.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Stage;
use super::contestant::Contestant;
use super::drain::pin;
use super::record::Figures;
use crate::meter::{Meter, Reading, resident};

/// One job every so many milliseconds, enqueued by the process that runs it.
pub(crate) async fn run(
    stage: &Stage,
    contestant: &Contestant,
    jobs: usize,
    gap: usize,
    knobs: Vec<(&'static str, String)>,
) -> Result<Figures> {
    let url = stage.database(contestant).await?;
    let task = ["latency".to_owned(), jobs.to_string(), gap.to_string()];
    let mut crew = stage.crew(contestant, &url, &task, knobs, 1).await?;
    let meter = Meter::of(&stage.server.admin, crew.pids()).await?;
    crew.go().await?;
    let ends = crew.ends(Duration::from_secs(90)).await?;
    let reading = meter.stop(&stage.server.admin, 1).await?;
    crew.leave().await?;
    let mut figures = quantiles(&ends[0]["latency"], ["p50", "p95", "p99", "max"])?;
    figures.extend(shares(&reading));
    figures.insert("missing", ends[0]["latency"]["missing"].as_f64().unwrap_or(0.0));
    Ok(figures)
}

/// The same by polls alone, every 100 ms; and with a twelfth of the jobs, one a second: a worker
/// that has just found a job looks again sooner.
pub(crate) async fn poll(stage: &Stage, contestant: &Contestant, jobs: usize) -> Result<Figures> {
    let knobs = vec![("LISTEN", "0".to_owned()), ("POLL_MS", "100".to_owned())];
    let mut figures = run(stage, contestant, jobs, 20, knobs.clone()).await?;
    let rare = run(stage, contestant, jobs.div_ceil(12), 1030, knobs).await?;
    figures.insert("rare_p50", rare["p50"]);
    *figures.entry("missing").or_default() += rare["missing"];
    Ok(figures)
}

/// 1,000 jobs/s while a snapshot is held open: does it get slower?
pub(crate) async fn steady(
    stage: &Stage,
    contestant: &Contestant,
    seconds: usize,
) -> Result<Figures> {
    let url = stage.database(contestant).await?;
    let pin = pin(&url).await?;
    let task = ["steady".to_owned(), "1000".to_owned(), seconds.to_string()];
    let mut crew = stage.crew(contestant, &url, &task, Vec::new(), 1).await?;
    let meter = Meter::of(&stage.server.admin, crew.pids()).await?;
    crew.go().await?;
    let ends = crew.ends(Duration::from_secs(seconds as u64 + 60)).await?;
    let reading = meter.stop(&stage.server.admin, 1).await?;
    crew.leave().await?;
    sqlx::Connection::close(pin).await?;
    let sixths = ends[0]["sixths"].as_array().context("it says nothing of each part")?;
    let (first, last) = (sixths.first().context("a part")?, sixths.last().context("a part")?);
    let mut figures = shares(&reading);
    figures.extend(renamed(first, ["p50", "p99"], ["p50_first", "p99_first"])?);
    figures.extend(renamed(last, ["p50", "p99"], ["p50_last", "p99_last"])?);
    figures.insert("missing", ends[0]["latency"]["missing"].as_f64().unwrap_or(0.0));
    Ok(figures)
}

/// What a worker costs that has nothing to do.
pub(crate) async fn idle(
    stage: &Stage,
    contestant: &Contestant,
    seconds: usize,
) -> Result<Figures> {
    let url = stage.database(contestant).await?;
    let mut crew = stage.crew(contestant, &url, &["work".to_owned()], Vec::new(), 1).await?;
    crew.go().await?;
    // Past its start, and past what its sessions report of it, ten seconds late.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let pids = crew.pids();
    let meter = Meter::of(&stage.server.admin, pids.clone()).await?;
    let before = stage.server.transactions().await?;
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let transactions = stage.server.transactions().await? - before;
    let reading = meter.stop(&stage.server.admin, 1).await?;
    let mut figures = shares(&reading);
    figures.insert("tx_per_s", transactions as f64 / reading.seconds);
    figures.insert("mb", pids.into_iter().map(resident).sum());
    crew.dismiss().await?;
    Ok(figures)
}

/// Percent of one core.
fn shares(reading: &Reading) -> Figures {
    let share = |micros: f64| micros / reading.seconds / 10_000.0;
    Figures::from([
        ("client_cpu", share(reading.own_micros)),
        ("server_cpu", share(reading.server_micros)),
    ])
}

fn quantiles<const N: usize>(summary: &Value, names: [&'static str; N]) -> Result<Figures> {
    renamed(summary, names, names)
}

fn renamed<const N: usize>(
    summary: &Value,
    names: [&str; N],
    figures: [&'static str; N],
) -> Result<Figures> {
    let figure = |(name, figure): (&str, &'static str)| {
        let value = summary[name].as_f64();
        Ok((figure, value.with_context(|| format!("no job has begun: {summary}"))?))
    };
    names.into_iter().zip(figures).map(figure).collect()
}
