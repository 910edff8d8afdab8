//! What the doctor finds, one by one.

use std::time::Duration;

use jobkit::admin::Severity;
use jobkit::admin::doctor::{Check, Diagnosis, Finding};
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;

use super::kit::Desk;
use crate::jobs::Noop;

/// Without what is so at a server for tests: it need not survive a crash of the host.
async fn diagnosis(admin: &Admin) -> Diagnosis {
    let mut diagnosis = admin.doctor().await.unwrap();
    let of_the_server = ["fsync is off", "full_page_writes is off"];
    diagnosis.findings.retain(|finding| !of_the_server.contains(&&*finding.found));
    diagnosis
}

impl Desk {
    async fn diagnosis(&self) -> Diagnosis {
        diagnosis(&self.admin).await
    }

    /// What the doctor finds of this, and that it finds nothing else.
    async fn findings(&self, check: Check) -> Vec<Finding> {
        let findings = self.diagnosis().await.findings;
        assert!(findings.iter().all(|finding| finding.check == check), "{findings:#?}");
        findings
    }

    /// What it finds of ids, whatever else.
    async fn ids(&self) -> Vec<Finding> {
        let findings = self.diagnosis().await.findings.into_iter();
        findings.filter(|finding| finding.check == Check::Ids).collect()
    }

    /// The same, when it is one.
    async fn finding(&self, check: Check) -> Finding {
        let mut findings = self.findings(check).await;
        assert_eq!(findings.len(), 1, "{findings:#?}");
        let finding = findings.remove(0);
        assert!(!finding.advice.is_empty());
        finding
    }
}

#[tokio::test]
async fn workers_that_go_by_different_rules_of_zones_are_found() {
    let desk = Desk::without_worker().await;
    let register = |id: i64, zones: &str| {
        format!(
            "select jobkit.register({id}, 'web-{id}', '{{default}}', '{{noop}}', '1 day',
                p_zones => '{zones}')"
        )
    };
    desk.lab.run(&register(1, "2026f, compiled in")).await;
    desk.lab.run(&register(2, "2026f of /usr/share/zoneinfo")).await;
    let clean = desk.diagnosis().await;
    assert!(clean.findings.iter().all(|finding| finding.check != Check::Zones), "{clean:?}");
    assert!(clean.zones.starts_with("20"), "{}", clean.zones);
    desk.lab.run(&register(3, "2025b of /usr/share/zoneinfo")).await;
    let findings = desk.diagnosis().await.findings;
    let finding = findings.iter().find(|finding| finding.check == Check::Zones).unwrap();
    for said in ["2025b of /usr/share/zoneinfo (web-3)", "2026f, compiled in (web-1)"] {
        assert!(finding.found.contains(said), "{}", finding.found);
    }
    // One that stops fires nothing more.
    desk.lab.run("update jobkit.workers set stopping = true where id = 3").await;
    let clean = desk.diagnosis().await;
    assert!(clean.findings.iter().all(|finding| finding.check != Check::Zones), "{clean:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_found_where_all_is_well() {
    let desk = Desk::without_worker().await;
    let fresh = desk.diagnosis().await;
    assert_eq!(fresh.findings, []);
    assert_eq!(fresh.schema, fresh.known);
    assert!(fresh.tables.iter().any(|table| table.table == "jobs" && table.bytes > 0));
    let worker = desk.start().await;
    Noop.enqueue(desk.lab.pool()).await.unwrap();
    desk.pay("a").await;
    desk.pay("a").await;
    // One waits for its key, behind the one that runs.
    desk.lab.until("count(*) = 2 from jobkit.jobs").await;
    desk.lab.until("sum(cardinality(job_ids)) = 1 from jobkit.claims").await;
    assert_eq!(desk.findings(Check::Schema).await, []);
    desk.go().await;
    desk.lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    assert_eq!(desk.findings(Check::Schema).await, []);
}

#[tokio::test]
async fn a_schema_that_is_missing_or_behind_is_critical() {
    let lab = Lab::empty().await;
    let admin = Admin::new(lab.pool());
    let missing = diagnosis(&admin).await;
    assert_eq!((missing.schema, missing.findings.len()), (0, 1));
    assert_eq!(missing.findings[0].severity, Severity::Critical);
    assert!(missing.findings[0].advice.contains("migrate"), "{missing:?}");
    jobkit::migrate(lab.pool()).await.unwrap();
    assert_eq!(diagnosis(&admin).await.findings, []);
    lab.run("delete from jobkit._migrations where version > 4").await;
    let behind = diagnosis(&admin).await;
    assert_eq!((behind.schema, behind.findings[0].check), (4, Check::Schema));
}

#[tokio::test]
async fn a_schema_that_is_ahead_or_was_edited_is_told_apart() {
    let desk = Desk::without_worker().await;
    let ahead = "insert into jobkit._migrations (version, name, checksum, readable_by)
        values (9999, 'ahead', '', 1)";
    desk.lab.run(ahead).await;
    let finding = desk.finding(Check::Schema).await;
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.found.contains("9999"), "{finding:?}");
    desk.lab.run("update jobkit._migrations set readable_by = 9999 where version = 9999").await;
    assert_eq!(desk.finding(Check::Schema).await.severity, Severity::Critical);
    desk.lab.run("delete from jobkit._migrations where version = 9999").await;
    desk.lab.run("update jobkit._migrations set checksum = 'other' where version = 5").await;
    let finding = desk.finding(Check::Schema).await;
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.found.contains("migration 5"), "{finding:?}");
}

#[tokio::test]
async fn rows_that_no_committed_state_may_have_are_critical() {
    let desk = Desk::new().await;
    for account in ["a", "b", "c"] {
        desk.pay(account).await;
    }
    desk.lab.run("delete from jobkit.ready").await;
    let finding = desk.finding(Check::Violations).await;
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.found.starts_with("live job in no place: 3 (1, 2, 3"), "{finding:?}");
    assert_eq!(desk.admin.violations().await.unwrap(), [finding]);
}

#[tokio::test]
async fn whole_tables_are_read_only_while_they_are_small() {
    let desk = Desk::new().await;
    desk.lab
        .run(
            "insert into jobkit.attempts (job_id, attempt, outcome, error, ended_at)
        select i, 1, 'retry', 'no', now() from generate_series(1, 200001) i",
        )
        .await;
    let counted = "(select n_live_tup from pg_stat_user_tables where relname = 'attempts')";
    desk.lab.until(&format!("{counted} > 200000")).await;
    let finding = desk.finding(Check::Violations).await;
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.found.contains("not checked"), "{finding:?}");
    let violations = desk.admin.violations().await.unwrap();
    assert!(violations[0].found.starts_with("attempts of an ended job: 200001"), "{violations:?}");
}

#[tokio::test]
async fn every_index_that_is_gone_is_missed() {
    let desk = Desk::without_worker().await;
    desk.lab.run("drop index jobkit.ready_keyed").await;
    let finding = desk.finding(Check::Indexes).await;
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.found, "the index jobkit.ready_keyed is missing");
    let gone = "do $$ declare v_name text; begin
        for v_name in select c.relname from pg_class c
            where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('i', 'I')
        loop execute format('alter index jobkit.%I rename to %I', v_name, 'x' || v_name);
        end loop; end $$";
    desk.lab.run(gone).await;
    let there = "pg_class where relnamespace = 'jobkit'::regnamespace and relkind in ('i', 'I')";
    let there = desk.lab.count(there).await;
    let missed = desk.findings(Check::Indexes).await.len();
    assert_eq!(i64::try_from(missed).unwrap(), there + 1, "INDEXES names all that there are");
}

#[tokio::test]
async fn an_index_that_cannot_be_used_is_critical() {
    let desk = Desk::without_worker().await;
    desk.lab
        .run(
            "update pg_index set indisvalid = false
            where indexrelid = 'jobkit.ready_keyed'::regclass",
        )
        .await;
    let finding = desk.finding(Check::Indexes).await;
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.advice.contains("reindex index concurrently jobkit.ready_keyed"));
}

#[tokio::test]
async fn a_commit_that_may_be_lost_is_a_warning() {
    let desk = Desk::without_worker().await;
    let database: String = desk.lab.value("select current_database()::text").await;
    desk.lab.run(&format!("alter database {database} set synchronous_commit = off")).await;
    let finding = desk.finding(Check::Durability).await;
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.found, "synchronous_commit is off");
}

#[tokio::test]
async fn a_session_that_keeps_old_row_versions_alive_is_named() {
    let desk = Desk::without_worker().await;
    let mut reader = desk.lab.session("the reader").await;
    reader.run("begin isolation level repeatable read").await.unwrap();
    reader.value::<i64>("select count(*) from jobkit.workers").await.unwrap();
    let pid = reader.pid;
    desk.lab
        .until(&format!(
            "xact_start < now() - interval '1 s' from pg_stat_activity
        where pid = {pid}"
        ))
        .await;
    let diagnosis = desk.diagnosis().await;
    let [holder] = &diagnosis.holders[..] else { panic!("{diagnosis:#?}") };
    assert_eq!((&*holder.what, &*holder.name), ("session", &*pid.to_string()));
    assert_eq!(holder.application.as_deref(), Some("the reader"));
    assert_eq!(holder.state.as_deref(), Some("idle in transaction"));
    assert!(holder.age.is_some_and(|age| age >= Duration::from_secs(1)));
    let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:#?}") };
    assert_eq!((finding.check, finding.severity), (Check::Horizon, Severity::Note));
    assert!(finding.advice.contains(&format!("pg_terminate_backend({pid})")), "{finding:?}");
    reader.run("commit").await.unwrap();
    assert_eq!(desk.diagnosis().await.holders, []);
}

#[tokio::test]
async fn a_table_full_of_dead_row_versions_is_a_warning() {
    let desk = Desk::without_worker().await;
    desk.lab
        .run(
            "alter table jobkit.sleepers set (autovacuum_enabled = off);
            insert into jobkit.sleepers (worker_id, queues, until)
            select i, '{}', now() from generate_series(1, 60000) i",
        )
        .await;
    // Told by another session, and after the delete, they would be alive for ever.
    let live = "(select n_live_tup from pg_stat_user_tables where relname = 'sleepers')";
    desk.lab.until(&format!("{live} = 60000")).await;
    desk.lab.run("delete from jobkit.sleepers").await;
    let dead = "(select n_dead_tup from pg_stat_user_tables where relname = 'sleepers')";
    desk.lab.until(&format!("{dead} = 60000")).await;
    let diagnosis = desk.diagnosis().await;
    let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:#?}") };
    assert_eq!((finding.check, finding.severity), (Check::Bloat, Severity::Warning));
    assert!(finding.found.starts_with("sleepers has 60000 dead row versions"), "{finding:?}");
    let sleepers = diagnosis.tables.iter().find(|table| table.table == "sleepers").unwrap();
    assert!((sleepers.dead_ratio() - 1.0).abs() < 1e-9 && sleepers.bytes > 1_000_000);
}

#[tokio::test]
async fn ready_jobs_of_a_kind_that_nobody_knows_are_a_warning() {
    let desk = Desk::new().await;
    desk.backlog("default", "gone", 2).await;
    let finding = desk.finding(Check::Kinds).await;
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.found.contains("gone in default, and none has ever announced"));
    desk.lab.run("update jobkit.jobs set kind = 'noop', queue = 'q'").await;
    desk.lab.run("update jobkit.ready set kind = 'noop', queue = 'q'").await;
    let finding = desk.finding(Check::Kinds).await;
    assert_eq!(finding.found, "no live worker serves the kind noop in q: 2 wait");
}

#[tokio::test]
async fn what_sweeps_found_and_a_history_that_ends_are_warnings() {
    let desk = Desk::new().await;
    assert_eq!(desk.findings(Check::Upkeep).await, []);
    desk.lab.run("update jobkit.sweeps set found = 3").await;
    let finding = desk.finding(Check::Upkeep).await;
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.found.contains("3 blocked jobs"), "{finding:?}");
    desk.lab.run("update jobkit.sweeps set found = 0").await;
    desk.lab.run("update jobkit.sweeps set began_at = now() - interval '3 h 10 min'").await;
    assert!(desk.finding(Check::Upkeep).await.found.ends_with("for 3 hours"));
    desk.lab.run("update jobkit.sweeps set began_at = now()").await;
    desk.lab
        .run("delete from jobkit.finished_days where day > (now() at time zone 'UTC')::date")
        .await;
    assert!(desk.finding(Check::Upkeep).await.found.contains("no partition for tomorrow"));
}

#[tokio::test]
async fn a_clock_that_is_behind_what_it_wrote_is_a_warning() {
    let desk = Desk::new().await;
    desk.pay("a").await;
    assert_eq!(desk.findings(Check::Clock).await, []);
    for ahead in [
        "jobkit.sweeps set began_at =",
        "jobkit.jobs set created_at =",
        "jobkit.workers set heartbeat_at =",
    ] {
        desk.lab.run(&format!("update {ahead} now() + interval '1 hour 1 min'")).await;
        let finding = desk.finding(Check::Clock).await;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.found.starts_with("the database's clock is 36"), "{finding:?}");
        desk.lab.run(&format!("update {ahead} now()")).await;
    }
    assert_eq!(desk.findings(Check::Clock).await, []);
}

/// As in a copy by logical replication: whatever tables there are. A new one is looked at, too.
#[tokio::test]
async fn sequences_that_went_back_are_critical_and_one_call_sets_all() {
    let desk = Desk::without_worker().await;
    desk.lab
        .run("create table jobkit.newer (id bigint generated always as identity primary key)")
        .await;
    assert_eq!(desk.ids().await, []);
    desk.lab
        .run("insert into jobkit.newer default values; insert into jobkit.newer default values")
        .await;
    for _ in 0..3 {
        Noop.enqueue(desk.lab.pool()).await.unwrap();
    }
    let [mut all, mut names] = [Vec::new(), Vec::new()];
    for sequence in ["audit", "bounds", "dead_letters", "jobs", "newer", "operations"] {
        let sequence = format!("{sequence}_id_seq");
        desk.lab.run(&format!("select setval('jobkit.{sequence}', 7)")).await;
        names.push(sequence);
    }
    desk.lab.run("insert into jobkit.newer default values").await;
    let dead = "insert into jobkit.dead_letters (kind, job_id, queue, priority, max_attempts,
            reason, error, fingerprint, errors, attempt, attempts, snoozes, created_at,
            first_failed_at, failed_at, args)
        values ('noop', 1, 'default', 0, 1, 'dead', 'why', 'f', '[]', 1, 1, 0, now(), now(), now(),
            '{}')";
    desk.lab.run(dead).await;
    desk.lab.run("insert into jobkit.bounds (queue) values ('default')").await;
    desk.lab.run("select jobkit.note(null, 'pause', 'queue', 1, '{}')").await;
    Noop.enqueue(desk.lab.pool()).await.unwrap();
    desk.lab
        .run(
            "insert into jobkit.operations (verb, filter, idempotency_key, up_to, until)
            values ('cancel', '{}', 'k', 0, now())",
        )
        .await;
    for name in &names {
        desk.lab.run(&format!("select setval('jobkit.{name}', 1)")).await;
        all.push(format!("{name} by 7"));
    }
    let finding = desk.ids().await.remove(0);
    assert_eq!(finding.severity, Severity::Critical);
    let found = format!("sequences are behind existing ids: {}", all.join(", "));
    assert_eq!(finding.found, found);
    assert!(finding.advice.contains("`select jobkit.set_sequences()`"), "{}", finding.advice);
    let set = "select array_agg(s order by s) from jobkit.set_sequences() s";
    assert_eq!(desk.lab.value::<Vec<String>>(set).await, names);
    assert_eq!(desk.ids().await, []);
    let next = Noop.enqueue(desk.lab.pool()).await.unwrap();
    assert_eq!(next.0, 9);
    assert_eq!(desk.lab.count("jobkit.set_sequences()").await, 0);
}

#[tokio::test]
async fn a_table_in_which_a_publication_lets_nothing_be_changed_is_critical() {
    let desk = Desk::without_worker().await;
    desk.lab.run("create table jobkit.mine (); create unlogged table jobkit.hint ()").await;
    let finding = desk.finding(Check::Publication).await;
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.found.ends_with("without a replica identity: mine"), "{finding:?}");
    assert!(finding.advice.contains("alter table jobkit.mine replica identity full"));
    desk.lab.run("alter table jobkit.mine replica identity full").await;
    assert_eq!(desk.findings(Check::Publication).await, []);
    desk.lab.run("alter table jobkit.mine replica identity default").await;
    desk.lab.run("drop publication everything").await;
    assert_eq!(desk.findings(Check::Publication).await, []);
    // By name, and as a partition of what is published as a whole.
    desk.lab
        .run(
            "select jobkit.finished_prepare(1);
            create publication few for table jobkit.finished, jobkit.jobs
                with (publish_via_partition_root);
            do $$ begin execute (select 'alter table ' || min(inhrelid::regclass::text)
                || ' replica identity nothing' from pg_inherits
                where inhparent = 'jobkit.finished'::regclass); end $$",
        )
        .await;
    let finding = desk.finding(Check::Publication).await;
    assert!(finding.found.contains(": finished_"), "{finding:?}");
}
