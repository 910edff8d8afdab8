//! The endpoints for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use jobkit::admin::AdminError;
use jobkit::admin::Count;
use jobkit::admin::brakes::{Brake, Rate};
use jobkit::admin::overview::{Attention, Overview};
use jobkit::admin::queues::QueueSummary;
use jobkit::admin::semaphores::ConcurrencyGroup;

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
    let asked = context.shared.admin.paused();
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

/// The numbers of the overview and the queues. No keys and no payloads: there would be no end of
/// series.
async fn page(context: &Context, format: Format) -> Result<String, AdminError> {
    let admin = context.admin();
    let overview = context.shared.overview.get(admin.overview());
    let (queues, workers, brakes) = (admin.queues(), admin.workers(), admin.brakes());
    let (groups, paused) = (admin.groups(), admin.paused_keys());
    let totals = context.shared.totals.look(|from| admin.measure_rows(from));
    let (now, queues, workers, brakes, groups, paused, totals) =
        tokio::try_join!(overview, queues, workers, brakes, groups, paused, totals)?;
    let mut page = Exposition::new(format);
    write_ended(&mut page, &totals);
    let mut gauge = |name: &str, text: &str, value: f64| {
        page.family(name, Type::Gauge, text);
        page.sample(name, &[], value);
    };
    let seconds = |age: Option<Duration>| age.unwrap_or_default().as_secs_f64();
    let number = |count: Count| f64::from(count.number());
    gauge("dead_letters_open", "Open dead letters, 10000 at most", number(now.dead));
    gauge("capacity", "Jobs that live workers can run at once", now.capacity.into());
    gauge("keys_paused", "Concurrency keys that are paused, 10000 at most", number(paused));
    gauge("blocked_age_seconds", "The longest wait for a permit", seconds(now.blocked_age));
    gauge("schedule_overdue_seconds", "The schedule longest overdue", seconds(now.overdue));
    let up = workers.iter().filter(|worker| !worker.lapsed);
    gauge("workers", "Workers that are alive", up.count() as f64);
    write_build(&mut page);
    write_attention(&mut page, &now);
    write_runs(&mut page, &queues);
    write_brakes(&mut page, &brakes);
    write_groups(&mut page, &groups);
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
    of_queues("queue_paused", "Whether it is paused", &|queue| queue.paused.is_some().into());
    of_queues("queue_bound", "How many jobs may wait; 0 if that is not bounded", &bound);
    of_queues("queue_full", "Whether enqueues are refused", &is_full);
}

/// A gauge with a series for each of these labels, if any.
fn write_series<'a, const N: usize>(
    page: &mut Exposition,
    name: &str,
    text: &str,
    series: impl IntoIterator<Item = ([(&'a str, &'a str); N], f64)>,
) {
    page.family(name, Type::Gauge, text);
    series.into_iter().for_each(|(labels, value)| page.sample(name, &labels, value));
}

/// The version of this dashboard. The value is 1, as is usual for such gauges.
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

fn bound(queue: &QueueSummary) -> f64 {
    queue.bound.as_ref().map_or(0.0, |bound| bound.most.into())
}

fn is_full(queue: &QueueSummary) -> f64 {
    queue.bound.as_ref().is_some_and(|bound| bound.full_since.is_some()).into()
}

/// What holds back a queue, a kind or everything; no series without a brake.
fn write_brakes<'a>(page: &mut Exposition, brakes: &'a [Brake]) {
    let mut of_brakes = |name: &str, text: &str, value: &dyn Fn(&Brake) -> Option<f64>| {
        let labels =
            |brake: &'a Brake| [("scope", brake.scope.word()), ("name", brake.scope.name())];
        let series = brakes.iter().filter_map(|brake| Some((labels(brake), value(brake)?)));
        write_series(page, name, text, series);
    };
    let paused = "Queues and kinds that are paused, or everything";
    of_brakes("paused", paused, &|brake| brake.paused.as_ref().map(|_| 1.0));
    let limit = "How many jobs of a queue or kind may run at a time";
    of_brakes("running_limit", limit, &|brake| brake.limit.map(f64::from));
    let rate = "How many jobs of a queue or kind may start in a second";
    of_brakes("rate_per_second", rate, &|brake| per_second(brake.rate?));
}

/// What operators have set for a group of concurrency keys; no series for announced defaults.
fn write_groups<'a>(page: &mut Exposition, groups: &'a [ConcurrencyGroup]) {
    let mut of_groups = |name: &str,
                         text: &str,
                         value: &dyn Fn(&ConcurrencyGroup) -> Option<f64>| {
        let series = |group: &'a ConcurrencyGroup| Some(([("group", &*group.name)], value(group)?));
        write_series(page, name, text, groups.iter().filter_map(series));
    };
    let limit = "How many jobs of each key of a group may run at a time, if operators set it";
    of_groups("group_limit", limit, &|group| group.override_limit.map(f64::from));
    let rate = "How many jobs of each key of a group may start in a second, if operators set it";
    of_groups("group_rate_per_second", rate, &|group| per_second(group.override_rate??));
}

/// How many may start in a second.
fn per_second(rate: Rate) -> Option<f64> {
    Some(rate.every.as_secs_f64().recip())
}

/// One of the histograms.
type OfSum = fn(&Sum) -> &Times;

/// The same over all outcomes.
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
