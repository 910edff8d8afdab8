//! Dead letters: finding them, and their end.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use jobkit::JobId;
use jobkit::admin::audit::{AuditEntry, AuditFilter};
use jobkit::admin::dead_letters::{
    DeadLetter, DeadLetterDiscarded, DeadLetterFilter, DeadLetterId, DeadLetterState, DeadReason,
};
use jobkit::admin::operations::BulkAction;
use jobkit::admin::overview::Attention;
use jobkit::admin::{AdminError, Count};
use jobkit::error::InvalidValue;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::kit::{Desk, HOUR, WORKER};

impl Desk {
    /// A dead letter of a `Pay`, and its job.
    pub(super) async fn dead(&self, account: &str) -> (DeadLetterId, JobId) {
        let (n, job) = self.running(account).await;
        self.settle(n, job, "bury").await;
        let id = format!("select id from jobkit.dead_letters where job_id = {job}");
        (DeadLetterId(self.lab.value(&id).await), job)
    }

    /// This many dead letters of jobs that never were: the expressions may use their number `i`,
    /// from 1, and say what is not the same for all.
    pub(super) async fn dead_in_bulk(&self, number: u32, columns: &str, values: &str) {
        self.lab
            .run(&format!(
                "insert into jobkit.dead_letters (job_id, kind, priority, max_attempts, reason,
                    errors, attempt, attempts, snoozes, created_at, first_failed_at, args,
                    {columns})
                select -nextval('jobkit.jobs_id_seq'), 'noop', 0, 20, 'exhausted', '[]', 20, 20, 0,
                    now(), now(), 'null', {values}
                from generate_series(1, {number}) i"
            ))
            .await;
    }

    /// The same, all alike.
    pub(super) async fn alike(&self, number: u32) {
        let columns = "queue, error, fingerprint, failed_at";
        self.dead_in_bulk(number, columns, "'default', 'no', 'f', '2026-01-01'").await;
    }

    pub(super) async fn dead_letter(&self, id: DeadLetterId) -> DeadLetter {
        self.admin.dead_letter(id).get().await.unwrap().expect("it is there")
    }

    pub(super) async fn audit(&self) -> Vec<AuditEntry> {
        self.admin.audit(&AuditFilter::all(), None, 500).await.unwrap().entries
    }

    async fn count_dead(&self, filter: &DeadLetterFilter) -> Count {
        self.admin.count_dead_letters(filter).await.unwrap()
    }

    /// All that a filter means, page by page, and how many pages these were.
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> (Vec<i64>, usize) {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let page = self.admin.dead_letters(filter, after, limit).await.unwrap();
            assert!(page.entries.len() <= limit as usize);
            found.extend(page.entries.iter().map(|entry| (entry.failed_at, entry.id.0)));
            (pages, after) = (pages + 1, page.next);
            if after.is_none() {
                break;
            }
        }
        assert!(found.is_sorted_by(|a, b| a > b), "newest first, none twice");
        (found.into_iter().map(|(_, id)| id).collect(), pages)
    }
}

pub(super) fn all() -> DeadLetterFilter {
    DeadLetterFilter::all()
}

#[tokio::test]
async fn a_buried_job_is_shown_with_all_that_is_known_of_it() {
    let desk = Desk::new().await;
    let began: DateTime<Utc> = desk.lab.value("select clock_timestamp()").await;
    let (id, job) = desk.dead("a").await;
    let page = desk.admin.dead_letters(&all(), None, 10).await.unwrap();
    assert_eq!(page.next, None);
    let [entry] = &page.entries[..] else { panic!("{page:?}") };
    let dead = desk.dead_letter(id).await;
    assert_eq!(&dead.summary, entry);
    assert_eq!((entry.id, entry.state, &*entry.kind), (id, DeadLetterState::Open, "pay"));
    assert_eq!((&*entry.queue, &entry.key), ("default", &None));
    assert_eq!((entry.reason, &*entry.error), (DeadReason::Exhausted, "why"));
    assert_eq!((entry.cycles, entry.attempts, dead.generation), (1, 1, 1));
    assert!(entry.failed_at > began && entry.first_failed_at == entry.failed_at);
    assert_eq!((dead.job, dead.replay, &*dead.error), (job, None, "why"));
    assert_eq!(dead.args.reveal(), r#"{"account": "a"}"#);
    assert_eq!(dead.concurrency, Some(("pay".to_owned(), "a".to_owned())));
    assert_eq!((dead.worker, dead.max_attempts, dead.attempt), (Some(WORKER), 20, 1));
    let [attempt] = &dead.errors[..] else { panic!("{dead:?}") };
    assert_eq!((attempt.job, attempt.attempt, &*attempt.outcome), (job, 1, "bury"));
    assert_eq!((&*attempt.error, attempt.worker), ("why", Some(WORKER)));
    assert!((began..=entry.failed_at).contains(&attempt.ended_at), "{attempt:?}");
    assert_eq!(desk.admin.dead_letter(DeadLetterId(0)).get().await.unwrap(), None);
}

#[tokio::test]
async fn a_filter_means_what_all_of_it_says() {
    let desk = Desk::new().await;
    // Of 120: every second in another queue, every third with a key, every fourth resolved, every
    // fifth failed otherwise; one in each minute.
    let columns = "queue, key, state, error, fingerprint, failed_at, resolved_at, tags";
    let values = "(array['default', 'slow'])[1 + i % 2],
        case when i % 3 = 0 then 'k' || i % 9 || '-' || i / 9 end,
        case when i % 4 = 0 then 'resolved' else 'open' end, 'no', 'f' || i % 5,
        timestamptz '2026-01-01 UTC' + i * interval '1 minute',
        case when i % 4 = 0 then now() end,
        case when i % 10 = 0 then array['a', 'customer/7'] else '{}' end";
    desk.dead_in_bulk(120, columns, values).await;
    let at = |minute| DateTime::UNIX_EPOCH + TimeDelta::days(20_454) + TimeDelta::minutes(minute);
    let resolved = || all().state(DeadLetterState::Resolved);
    for (filter, number) in [
        (all(), 90),
        (resolved(), 30),
        (all().state(DeadLetterState::Replaying), 0),
        (all().queue("slow"), 60),
        (resolved().queue("slow"), 0),
        (resolved().queue("default"), 30),
        (all().kind("noop").fingerprint("f1"), 18),
        (all().kind("pay").fingerprint("f1"), 0),
        (resolved().fingerprint("f1"), 6),
        (all().fingerprint("f"), 0),
        (all().key("k3-0"), 1),
        (all().key("k3-0").fingerprint("f4"), 0),
        (all().key("k3-1"), 0),
        (resolved().key("k3-1"), 1),
        (all().key(""), 0),
        (all().tag("customer/7"), 6),
        (resolved().tag("customer/7").queue("default"), 6),
        (all().tag("customer"), 0),
        (all().failed_after(at(100)), 15),
        (all().failed_before(at(100)), 75),
        (all().failed_after(at(10)).failed_before(at(13)), 1),
        (all().failed_after(at(11)).failed_before(at(12)), 0),
        (all().failed_after(DateTime::<Utc>::MIN_UTC), 90),
        (all().failed_before(DateTime::<Utc>::MAX_UTC), 90),
    ] {
        assert_eq!(desk.count_dead(&filter).await, Count::Exactly(number), "{filter:?}");
        for limit in [500, 25] {
            let (found, _) = desk.list(&filter, limit).await;
            assert_eq!(found.len(), number as usize, "{filter:?}");
        }
    }
}

#[tokio::test]
async fn a_filter_that_cannot_fit_anything_is_an_error() {
    let desk = Desk::without_worker().await;
    let long = "x".repeat(129);
    for filter in [all().kind(""), all().queue(&*long), all().tag(""), all().key("x".repeat(513))] {
        let error = desk.admin.dead_letters(&filter, None, 1).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
        let error = desk.admin.count_dead_letters(&filter).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
        let error = desk.try_all(&BulkAction::Replay(filter.clone())).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
        let error = desk.try_all(&BulkAction::DiscardDeadLetters(filter)).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
    }
    let error = desk.admin.dead_letters(&all().key("a\0"), None, 1).await.unwrap_err();
    assert!(
        matches!(error, AdminError::Invalid(InvalidValue::Nul { what: "dead-letter key" })),
        "{error}"
    );
}

#[tokio::test]
async fn no_page_repeats_or_misses_what_failed_at_one_time() {
    let desk = Desk::without_worker().await;
    let columns = "queue, error, fingerprint, failed_at";
    let values = "'default', 'no', 'f', timestamptz '2026-01-01' + i % 3 * interval '1 s'";
    desk.dead_in_bulk(1_000, columns, values).await;
    for (limit, pages) in [(1_000_000, 3), (500, 3), (21, 48)] {
        let (mut found, mut after, mut seen) = (BTreeSet::new(), None, 0);
        loop {
            let page = desk.admin.dead_letters(&all(), after, limit).await.unwrap();
            found.extend(page.entries.iter().map(|entry| entry.id.0));
            (after, seen) = (page.next, seen + 1);
            if after.is_none() {
                break;
            }
        }
        assert_eq!((found.len(), seen), (1_000, pages), "{limit}");
    }
    assert_eq!(desk.admin.dead_letters(&all(), None, 0).await.unwrap().entries.len(), 1);
}

#[tokio::test]
async fn a_page_and_a_count_look_at_ten_thousand() {
    let desk = Desk::without_worker().await;
    desk.alike(9_999).await;
    assert_eq!(desk.count_dead(&all()).await, Count::Exactly(9_999));
    desk.alike(1).await;
    assert_eq!(desk.count_dead(&all()).await, Count::Exactly(10_000));
    desk.alike(10_001).await;
    desk.lab.run("update jobkit.dead_letters set queue = 'rare' where id in (1, 2, 20001)").await;
    assert_eq!(desk.count_dead(&all()).await, Count::AtLeast(10_000));
    assert_eq!(desk.count_dead(&all().fingerprint("f")).await.to_string(), "10000+");
    let rare = all().queue("rare");
    assert_eq!(desk.count_dead(&rare).await, Count::AtLeast(1));
    let (found, pages) = desk.list(&rare, 500).await;
    assert_eq!((found, pages), (vec![20_001, 2, 1], 3));
    let (found, pages) = desk.list(&all().queue("none"), 500).await;
    assert_eq!((found, pages), (vec![], 3));
    assert_eq!(desk.all(&BulkAction::Replay(rare)).await.done, 3);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn groups_are_what_failed_for_one_cause() {
    let desk = Desk::new().await;
    assert_eq!(desk.admin.dead_letter_groups(100).await.unwrap(), []);
    // Two of each of two causes, and 1,500 of one that failed first.
    let columns = "queue, error, fingerprint, failed_at";
    let values = "'default', 'no ' || i, 'f' || i, timestamptz '2026-01-01' + i * interval '1 day'";
    for _ in 0..2 {
        desk.dead_in_bulk(2, columns, values).await;
    }
    let values = "'default', 'many ' || i, 'many', timestamptz '2025-01-01' + i * interval '1 s'";
    desk.dead_in_bulk(1_500, columns, values).await;
    desk.lab.run("update jobkit.dead_letters set state = 'resolved' where id = 1").await;
    let groups = desk.admin.dead_letter_groups(100).await.unwrap();
    let shown: Vec<_> =
        groups.iter().map(|g| (&*g.fingerprint, &*g.error, g.count, g.sample.0)).collect();
    let many = ("many", "many 1500", Count::AtLeast(1_000), 1_504);
    let expected =
        [("f2", "no 2", Count::Exactly(2), 4), ("f1", "no 1", Count::Exactly(1), 3), many];
    assert_eq!(shown, expected);
    let many = &groups[2];
    assert_eq!(many.last_failed_at - many.first_failed_at, TimeDelta::seconds(1_499));
    assert_eq!(many.kind, "noop");
    for (limit, number) in [(0, 1), (2, 2), (1_000_000, 3)] {
        let groups = desk.admin.dead_letter_groups(limit).await.unwrap();
        assert_eq!(groups.len(), number);
        assert_eq!(groups[0].fingerprint, "f2");
    }
}

#[tokio::test]
async fn a_cause_can_be_noted_and_muted() {
    let desk = Desk::new().await;
    let columns = "queue, error, fingerprint, failed_at";
    desk.dead_in_bulk(2, columns, "'default', 'no', 'f' || i, now()").await;
    let lately = async |number| {
        let told: Vec<_> = desk.attention().await.iter().map(Attention::found).collect();
        let words = if number == 1 { "letter" } else { "letters" };
        let dead = format!("{number} dead {words} within the last hour");
        assert_eq!(told, Vec::from_iter((number > 0).then_some(dead)));
    };
    lately(2).await;
    desk.admin.cause("f1").note(" the partner is down ").await.unwrap();
    let until = desk.admin.cause("f1").mute(Duration::from_secs(3600)).await.unwrap();
    lately(1).await;
    let groups = desk.admin.dead_letter_groups(100).await.unwrap();
    let muted = groups.iter().find(|group| group.fingerprint == "f1").unwrap();
    let note = muted.note.as_ref().unwrap();
    assert_eq!((&*note.text, muted.muted_until), ("the partner is down", Some(until)));
    assert!(groups.iter().any(|group| group.note.is_none() && group.muted_until.is_none()));

    desk.lab.run("update jobkit.causes set muted_until = now() - interval '1 s'").await;
    lately(2).await;
    desk.admin.cause("f2").mute(Duration::from_secs(60)).await.unwrap();
    desk.admin.cause("f2").unmute().await.unwrap();
    lately(2).await;
    desk.admin.cause("f1").note("").await.unwrap();
    desk.admin.cause("f1").unmute().await.unwrap();
    assert_eq!(desk.lab.count("jobkit.causes").await, 0, "nothing is said of them");
    let acts = "select array_agg(action || ' ' || subject_name order by id) from jobkit.audit
        where subject = 'cause'";
    let expected =
        ["note f1", "mute f1", "mute f2", "unmute f2", "note f1", "unmute f1"].map(String::from);
    assert_eq!(desk.lab.value::<Vec<String>>(acts).await, expected);
    for refused in [
        desk.admin.cause("").note("a").await.unwrap_err(),
        desk.admin.cause("f1").note(&"a".repeat(4097)).await.unwrap_err(),
        desk.admin.cause("f1").mute(Duration::ZERO).await.unwrap_err(),
    ] {
        assert!(
            matches!(
                refused,
                AdminError::Invalid(InvalidValue::Length { .. } | InvalidValue::Range { .. })
            ),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_newest_groups_are_found_among_any_number() {
    let desk = Desk::without_worker().await;
    let columns = "queue, error, fingerprint, failed_at";
    // The newest is in the middle of the fingerprints.
    let values = "'default', 'no', to_char(i, 'FM0000'),
        timestamptz '2026-01-01' - abs(i - 777) * interval '1 s'";
    desk.dead_in_bulk(1_500, columns, values).await;
    let groups = desk.admin.dead_letter_groups(1_000).await.unwrap();
    let found: BTreeSet<_> = groups.iter().map(|group| &*group.fingerprint).collect();
    assert_eq!((groups.len(), found.len(), &*groups[0].fingerprint), (100, 100, "0777"));
    assert!(found.iter().all(|f| (727..=827).contains(&f.parse().unwrap())), "{found:?}");
}

/// Whatever the number of entries, groups are read from one index, and counted in it alone.
#[tokio::test]
async fn groups_are_counted_in_the_index_alone() {
    let desk = Desk::without_worker().await;
    let columns = "queue, error, fingerprint, failed_at";
    let values = "'default', repeat('no', 100), md5((i % 20)::text), now() - i * interval '1 s'";
    desk.dead_in_bulk(30_000, columns, values).await;
    desk.lab.vacuum("jobkit.dead_letters").await;
    let file = "../jobkit/src/admin/dead_letters/sql/dead_letters_groups.sql";
    let sql = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let explain = ["explain (analyze, timing off)\n", &sql].concat();
    let explain = sqlx::query_scalar(AssertSqlSafe(explain)).bind(100_i64);
    let plan: Vec<String> = explain.fetch_all(desk.lab.direct()).await.unwrap();
    // PostgreSQL 18 writes averages.
    let plan = plan.join("\n").replace(".00 loops", " loops");
    let scan = "Index Only Scan using dead_letters_group on dead_letters";
    let (_, counted) = plan.rsplit_once(scan).expect(&plan);
    assert!(
        counted.contains("rows=1001 loops=20)") && !plan.contains("Seq Scan on dead"),
        "{plan}"
    );
    assert_eq!(plan.matches("Heap Fetches: 0").count(), 3, "{plan}");
}

#[tokio::test]
async fn one_is_discarded_unless_it_is_replayed() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let job = desk.admin.dead_letter(id).replay().await.unwrap();
    let discard = || desk.admin.dead_letter(id).discard();
    assert_eq!(discard().await.unwrap(), DeadLetterDiscarded::Replaying);
    desk.admin.job(job).cancel().await.unwrap();
    let discard = || async { desk.admin.acting_as("bob\0").dead_letter(id).discard().await };
    assert_eq!(discard().await.unwrap(), DeadLetterDiscarded::Now);
    assert_eq!(discard().await.unwrap(), DeadLetterDiscarded::NotFound);
    assert_eq!(desk.admin.dead_letter(id).get().await.unwrap(), None);
    let audit = desk.audit().await;
    assert_eq!(audit.len(), 3);
    let (action, actor) = (&*audit[0].action, audit[0].actor.as_deref());
    assert_eq!((action, actor), ("discard", Some("bob\\0")));
    assert_eq!((&*audit[0].subject, audit[0].subject_id), ("dead_letter", Some(id.0)));
    let args = audit[0].args.as_ref().unwrap();
    assert_eq!(args.reveal(), r#"{"account": "a"}"#);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn many_are_discarded_but_never_what_is_replayed_or_in_other_hands() {
    let desk = Desk::new().await;
    desk.alike(1_203).await;
    let (first, _) = desk.dead("a").await;
    desk.admin.dead_letter(first).replay().await.unwrap();
    let mut holder = desk.lab.session("holder").await;
    let held = "select from jobkit.dead_letters where id in (7, 700) for update";
    holder.run(&format!("begin; {held}")).await.unwrap();
    let replaying = all().state(DeadLetterState::Replaying);
    let error = BulkAction::DiscardDeadLetters(replaying.clone());
    let error = desk.try_all(&error).await.unwrap_err();
    assert!(matches!(error, AdminError::Replaying), "{error}");
    let everything = BulkAction::DiscardDeadLetters(all());
    let alice = desk.admin.acting_as("alice");
    let begun = alice.begin_operation(&everything, "they are old", "once").await.unwrap();
    let discarded = alice.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!((discarded.done, discarded.skipped), (1_201, 2));
    holder.run("commit").await.unwrap();
    let discarded = desk.all(&everything).await;
    assert_eq!((discarded.done, discarded.skipped), (2, 0));
    let left: Vec<_> = desk.list(&replaying, 10).await.0;
    assert_eq!(left, [first.0]);
    let audit = desk.audit().await;
    let said: Vec<_> = audit.iter().map(|entry| (entry.actor.as_deref(), &*entry.action)).collect();
    assert_eq!(said, [(None, "begin"), (Some("alice"), "begin"), (None, "replay")]);
    assert_eq!((&audit[1].detail["done"], &audit[1].detail["skipped"]), (&json!(1_201), &json!(2)));
    assert_eq!(audit[1].detail["reason"], "they are old");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn only_what_is_old_and_asked_for_is_purged() {
    let desk = Desk::new().await;
    let columns = "queue, error, fingerprint, state, failed_at, resolved_at";
    let values = "(array['default', 'slow'])[1 + i % 2], 'no', 'f',
        (array['open', 'resolved'])[1 + i / 2 % 2], clock_timestamp() - i * interval '1 hour',
        now()";
    desk.dead_in_bulk(40, columns, values).await;
    let resolved = all().state(DeadLetterState::Resolved);
    let purge = async |ago: Duration, filter: &DeadLetterFilter| {
        desk.all(&BulkAction::Purge(filter.clone(), ago)).await.done
    };
    assert_eq!(purge(Duration::MAX, &all()).await, 0);
    assert_eq!(purge(38 * HOUR + HOUR / 2, &resolved).await, 1);
    assert_eq!(purge(20 * HOUR + HOUR / 2, &all().queue("slow")).await, 5);
    assert_eq!(desk.count_dead(&all()).await, Count::Exactly(15));
    assert_eq!(desk.count_dead(&resolved).await, Count::Exactly(19));
    let before = Utc::now() - TimeDelta::hours(30) + TimeDelta::minutes(30);
    assert_eq!(purge(HOUR, &resolved.clone().failed_before(before)).await, 5);
    assert_eq!(purge(Duration::ZERO, &resolved).await, 14);
    assert_eq!(purge(Duration::ZERO, &all()).await, 15);
    let audit = desk.audit().await;
    assert!(audit.iter().all(|entry| entry.action == "begin" && entry.detail["verb"] == "purge"));
    assert_eq!(desk.lab.count("jobkit.dead_letters").await, 0);
}
