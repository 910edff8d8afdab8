//! What identifies a job, and for how long.

use std::collections::HashSet;

use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs::{EFFECTS, trace};

/// Fails at first; notes its key in each attempt.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"))]
struct Identified;

impl Job<PgPool> for Identified {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        trace(&cx, &cx.idempotency_key()).await?;
        if cx.attempt() == 1 { Err("the network".into()) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_of_one_job_even_where_its_id_comes_again() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs([Registration::of::<Identified, _>()]);
    let worker = worker.queue("default", 1).start().await.unwrap();
    let mut keys = HashSet::new();
    for _ in 0..3 {
        let job = Identified.enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
        let key = "select case when count(*) = 2 and min(what) = max(what) then min(what) end
            from effects";
        let key: Option<String> = lab.value(key).await;
        assert!(keys.insert(key.expect("both attempts have one")), "{keys:?}");
        // As on a standby that had not heard of it when it took over.
        lab.run(&format!("select setval('jobkit.jobs_id_seq', {job}, false)")).await;
        lab.run("truncate effects; delete from jobkit.finished").await;
    }
    assert!(keys.iter().all(|key| key.starts_with("1-")), "{keys:?}");
    worker.stop().await;
}

/// In a copy whose sequence begins anew: of the same kind, and of another one.
#[tokio::test]
async fn a_dead_letter_takes_the_place_of_none_whose_id_comes_again() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('a', 'default', 0, 3), ('b', 'default', 0, 3)",
    )
    .await;
    let die = async |kind: &str, args: i32| {
        let enqueue = format!("select jobkit.enqueue('{kind}', to_jsonb({args}))");
        let job: i64 = lab.value(&enqueue).await;
        lab.run(&format!("delete from jobkit.ready where job_id = {job}")).await;
        lab.run(&format!(
            "select jobkit.bury(j, 3, 'exhausted', 'why', null) from jobkit.jobs j where id = {job}"
        ))
        .await;
    };
    for args in 1..=3 {
        die("a", args).await;
    }
    lab.run("select setval('jobkit.dead_letters_id_seq', 1, false)").await;
    die("a", 4).await;
    die("b", 5).await;
    let kept = "select string_agg(format('%s %s %s %s', id, kind, args, generation), ', '
        order by id) from jobkit.dead_letters";
    let kept: String = lab.value(kept).await;
    assert_eq!(kept, "1 a 1 1, 2 a 2 1, 3 a 3 1, 4 a 4 1, 5 b 5 1");
    lab.check_invariants().await;
    // Where very many are taken it fails, and the job is where it was.
    lab.run("select setval('jobkit.dead_letters_id_seq', 1, false)").await;
    lab.run(
        "insert into jobkit.dead_letters select (jsonb_populate_record(d, jsonb_build_object(
            'id', n, 'job_id', n + 1000))).* from jobkit.dead_letters d, generate_series(6, 10001) n
        where d.id = 1",
    )
    .await;
    let job: i64 = lab.value("select jobkit.enqueue('a', '6')").await;
    let bury = format!(
        "do $$ begin
            perform jobkit.bury(j, 3, 'exhausted', 'why', null) from jobkit.jobs j where id = {job};
            raise exception 'it went through';
        exception when sqlstate 'JK008' then null;
        end $$"
    );
    lab.run(&bury).await;
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {job}")).await, 1);
    let set = "select string_agg(s, ' ') from jobkit.set_sequences() s";
    // Their jobs have ids as well.
    assert_eq!(lab.value::<String>(set).await, "dead_letters_id_seq jobs_id_seq");
}
