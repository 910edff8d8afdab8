//! The endpoints for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use jobkit::admin::AdminError;
use jobkit::admin::Count;
use jobkit::admin::limits::{Limit, LimitFilter};
use jobkit::admin::overview::{Attention, Overview};
use jobkit::admin::queues::QueueSummary;

use crate::context::Context;
use crate::failure::Answer;
use crate::totals::{Sum, Sums, Times};

mod exposition;

use self::exposition::{Exposition, Format, Type};

/// The process is alive.
pub(crate) async fn healthy(_: &Context) -> Answer {
    Ok("ok\n".into_response())
}

/// The database answers.
pub(crate) async fn ready(context: &Context) -> Answer {
    let least = LimitFilter::all().of(&["all"]);
    let asked = context.shared.admin.limits(&least);
    let answer = tokio::time::timeout(Duration::from_secs(2), asked).await;
    Ok(match answer {
        Ok(Ok(_)) => "ok\n".into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response(),
    })
}

pub(crate) async fn text(context: &Context) -> Answer {
    let format = Format::of(&context.accept);
    let page = page(context, format).await?;
    Ok(([(CONTENT_TYPE, format.content_type())], page).into_response())
}

/// The numbers of the overview and the queues. Keys and payloads are left out: they would make an
/// unlimited number of series.
async fn page(context: &Context, format: Format) -> Result<String, AdminError> {
    let admin = context.admin();
    let overview = context.shared.overview.get(admin.overview());
    let filter = LimitFilter::all().without_keys();
    let (queues, workers, limits) = (admin.queues(), admin.workers(), admin.limits(&filter));
    let totals = context.shared.totals.look(|from| admin.measure_rows(from));
    let (now, queues, workers, limits, paused, totals) =
        tokio::try_join!(overview, queues, workers, limits, admin.paused_keys(), totals)?;
    let mut page = Exposition::new(format);
    write_ended(&mut page, &totals);
    let mut gauge = |name: &str, text: &str, value: f64| {
        page.family(name, Type::Gauge, text);
        page.sample(name, &[], value);
    };
    let seconds = |age: Option<Duration>| age.unwrap_or_default().as_secs_f64();
    let number = |count: Count| f64::from(count.number());
    gauge("dead_letters_open", "Open dead letters, 10000 at most", number(now.dead));
    gauge("open_batches", "Batches that have not ended, 10000 at most", number(now.open_batches));
    gauge("batch_tallies", "Changes in batches to be added up", number(now.batch_tallies));
    gauge("capacity", "Jobs that live workers can run at once", now.capacity.into());
    gauge("paused_keys", "Concurrency keys that are paused, 10000 at most", number(paused));
    gauge("blocked_age_seconds", "The longest wait for a permit", seconds(now.blocked_age));
    gauge("schedule_overdue_seconds", "The schedule longest overdue", seconds(now.overdue));
    let up = workers.iter().filter(|worker| !worker.lapsed);
    gauge("workers", "Workers that are alive", up.count() as f64);
    write_build(&mut page);
    write_attention(&mut page, &now);
    write_runs(&mut page, &queues);
    write_limits(&mut page, &limits);
    write_queues(&mut page, &queues);
    Ok(page.finish())
}

fn write_queues(page: &mut Exposition, queues: &[QueueSummary]) {
    let number = |count: Count| f64::from(count.number());
    let mut of_queues = |name: &str, text: &str, value: &dyn Fn(&QueueSummary) -> f64| {
        let series = queues.iter().map(|queue| ([("queue", &*queue.queue)], value(queue)));
        write_series(page, name, text, series);
    };
    of_queues("queue_ready", "Jobs that may be claimed", &|queue| number(queue.ready));
    let ready_age = |queue: &QueueSummary| queue.ready_age.unwrap_or_default().as_secs_f64();
    of_queues("queue_ready_age_seconds", "How long the oldest ready job has been due", &ready_age);
    of_queues("queue_running", "Running jobs", &|queue| number(queue.running));
    of_queues("queue_blocked", "Jobs that wait for a permit", &|queue| number(queue.blocked));
    of_queues("queue_scheduled", "Jobs that are not due yet", &|queue| number(queue.scheduled));
    of_queues("queue_retrying", "Scheduled jobs that have failed", &|queue| number(queue.retrying));
    of_queues("queue_full", "Whether enqueues are refused", &is_full);
}

/// A gauge with a series for each of these labels; nothing if there are none.
fn write_series<'a, const N: usize>(
    page: &mut Exposition,
    name: &str,
    text: &str,
    series: impl IntoIterator<Item = ([(&'a str, &'a str); N], f64)>,
) {
    page.family(name, Type::Gauge, text);
    series.into_iter().for_each(|(labels, value)| page.sample(name, &labels, value));
}

/// The version of this dashboard, as a label. The value is 1, as is usual for such gauges.
fn write_build(page: &mut Exposition) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    write_series(page, "build_info", "The version of this dashboard", [(version, 1.0)]);
}

/// How many items of each name need attention, and their subjects if these are queues, kinds,
/// schedules, groups of keys or workers. Acknowledged items are counted separately.
fn write_attention(page: &mut Exposition, now: &Overview) {
    let text = "Items that need attention, 20 of a kind at most";
    let items = |name| now.attention.iter().filter(|item| item.name() == name).count() as f64;
    let labels = |what| [("what", what), ("severity", Attention::severity_of(what).as_str())];
    let series = Attention::NAMES.into_iter().map(|name| (labels(name), items(name)));
    write_series(page, "attention", text, series);
    let text = "The subject of each item: a queue, a kind, a schedule, a group, a worker";
    let mut named = BTreeMap::new();
    for item in &now.attention {
        let Some(label) = item.label() else { continue };
        *named.entry((item.name(), label)).or_insert(0.0) += 1.0;
    }
    let named = named.into_iter().map(|((what, label), number)| {
        let [what, severity] = labels(what);
        ([what, severity, ("name", label)], number)
    });
    write_series(page, "attention_named", text, named);
    let text = "Items that are acknowledged, 100 of a kind at most";
    let known = |name| now.acknowledged.iter().filter(|it| it.item.name() == name).count() as f64;
    let series = Attention::NAMES.into_iter().map(|name| ([("what", name)], known(name)));
    write_series(page, "attention_acknowledged", text, series);
}

/// How long jobs have been running; no series for a kind without running jobs.
fn write_runs(page: &mut Exposition, queues: &[QueueSummary]) {
    let text = "How long the longest running job of the kind has run";
    let series = queues.iter().flat_map(|queue| {
        queue.kinds.iter().filter_map(|kind| {
            let age = kind.running_age?.as_secs_f64();
            Some(([("queue", &*queue.queue), ("kind", &*kind.kind)], age))
        })
    });
    write_series(page, "running_age_seconds", text, series);
}

fn is_full(queue: &QueueSummary) -> f64 {
    queue.waiting.as_ref().is_some_and(|waiting| waiting.full_since.is_some()).into()
}

/// What is paused, and the limits in force; no series where there is no limit. Limits of groups and
/// limiters apply to each key.
fn write_limits(page: &mut Exposition, limits: &[Limit]) {
    fn of(limit: &Limit) -> [(&str, &str); 2] {
        [("scope", limit.scope.word()), ("name", limit.scope.name())]
    }
    let paused = limits.iter().filter(|limit| limit.paused.is_some());
    let paused = paused.map(|limit| (of(limit), 1.0));
    write_series(page, "paused", "Queues and kinds that are paused, or everything", paused);
    let text = "How many jobs may run at a time, wait, or start in a second (rate)";
    let series = limits.iter().flat_map(|limit| {
        let [scope, name] = of(limit);
        parts(limit).map(move |(what, value)| ([scope, name, ("what", what)], value))
    });
    write_series(page, "limit", text, series);
}

/// The parts of a limit that are in force, each with its number.
fn parts(limit: &Limit) -> impl Iterator<Item = (&'static str, f64)> + use<> {
    let running = limit.most_running().map(|most| ("running", most.into()));
    let rate = limit.most_often().map(|rate| ("rate", rate.every.as_secs_f64().recip()));
    let waiting = limit.most_waiting().map(|most| ("waiting", most.into()));
    [running, rate, waiting].into_iter().flatten()
}

/// One of the histograms.
type OfSum = fn(&Sum) -> &Times;

/// The same, summed over all outcomes.
fn by_kind(sums: &Sums) -> BTreeMap<[&str; 2], Sum> {
    let mut by_kind: BTreeMap<[&str; 2], Sum> = BTreeMap::new();
    for ([queue, kind, _], sum) in sums {
        by_kind.entry([queue, kind]).or_default().merge(sum);
    }
    by_kind
}

/// The outcomes of attempts.
fn write_ended(page: &mut Exposition, sums: &Sums) {
    let text = "Attempts that ended since the first scrape of this process";
    page.family("attempts_total", Type::Counter, text);
    for ([queue, kind, outcome], sum) in sums {
        let labels = [("queue", &**queue), ("kind", kind), ("outcome", outcome)];
        page.sample("attempts_total", &labels, sum.count.max(0) as f64);
    }
    let by_kind = by_kind(sums);
    let times: [(&str, &str, OfSum); 2] = [
        ("run_seconds", "How long handlers ran", |sum| &sum.run),
        ("wait_seconds", "How long jobs had been due when an attempt started", |sum| &sum.wait),
    ];
    for (name, text, times) in times {
        page.family(name, Type::Histogram, text);
        for (labels, sum) in &by_kind {
            write_histogram(page, name, labels, times(sum));
        }
    }
}

fn write_histogram(page: &mut Exposition, name: &str, [queue, kind]: &[&str; 2], times: &Times) {
    let of = [("queue", *queue), ("kind", *kind)];
    let (bucket, mut within) = (format!("{name}_bucket"), 0);
    for (bound, count) in times.buckets() {
        within += count;
        let bound = if bound == f64::MAX { "+Inf".to_owned() } else { format!("{bound:?}") };
        page.sample(&bucket, &[of[0], of[1], ("le", &bound)], within as f64);
    }
    page.sample(&format!("{name}_sum"), &of, times.sum());
    page.sample(&format!("{name}_count"), &of, within as f64);
}
