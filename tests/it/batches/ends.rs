//! Every end of a member is an end, and nothing else is.

use jobkit::admin::dead_letters::DeadLetterId;

use super::*;

async fn becomes(then: Then) -> (Lab, Seen, WorkerHandle) {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    enqueue(&lab, Batch::of([Part::of(Then::Finish), Part::of(then)])).await;
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    (lab, seen, worker)
}

#[tokio::test]
async fn retries_and_snoozes_are_no_ends() {
    for then in [Then::Retry, Then::Snooze] {
        let (_lab, seen, worker) = becomes(then).await;
        let end = seen.called()[0].1;
        assert_eq!((end.members, end.finished), (2, 2), "{then:?}");
        worker.stop().await;
    }
}

#[tokio::test]
async fn a_dead_letter_is_an_end_and_calls_the_else() {
    for then in [Then::Die, Then::Fail] {
        let (lab, seen, worker) = becomes(then).await;
        let mut names = seen.names();
        names.sort();
        assert_eq!(names, ["else", "then"], "{then:?}");
        let (_, end) = seen.called().into_iter().find(|(name, _)| name == "then").unwrap();
        assert_eq!((end.members, end.finished, end.dead), (2, 1, 1));
        lab.check_invariants().await;
        worker.stop().await;
    }
}

#[tokio::test]
async fn a_discarded_member_is_an_end_and_no_death() {
    let (_lab, seen, worker) = becomes(Then::Discard).await;
    assert_eq!(seen.names(), ["then"]);
    assert_eq!((seen.called()[0].1.discarded, seen.called()[0].1.dead), (1, 0));
    worker.stop().await;
}

#[tokio::test]
async fn the_else_runs_at_the_first_death() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let waits = Part::of(Then::Finish).options().after(Duration::from_secs(3600));
    let batch = Batch::of([Part::of(Then::Die)]).with([waits]);
    let batch = enqueue(&lab, batch).await;
    let worker = start(&lab, &seen).await;
    lab.until("exists (select from jobkit.finished where kind = 'done')").await;
    assert_eq!(seen.names(), ["else"]);
    assert_eq!((seen.called()[0].1.dead, seen.called()[0].1.open()), (1, 1));
    let admin = jobkit::Admin::new(lab.pool());
    admin.job(batch.jobs()[1].id()).reschedule(None).await.unwrap();
    ended(&lab).await;
    assert_eq!(seen.names(), ["else", "then"]);
    worker.stop().await;
}

#[tokio::test]
async fn a_held_batch_waits_until_the_dead_letter_is_resolved_or_discarded() {
    for discard in [false, true] {
        let lab = Lab::guarded().await;
        let seen = seen(&lab);
        enqueue(&lab, Batch::of([Part::of(Then::Die)]).hold_dead()).await;
        let worker = start(&lab, &seen).await;
        lab.until("exists (select from jobkit.dead_letters)").await;
        lab.until("not exists (select from jobkit.batch_tallies)").await;
        lab.until("(select count(*) = 2 from jobkit.jobs)").await;
        assert_eq!(seen.names(), ["else"], "it is held");
        assert_eq!(seen.called()[0].1.dead, 1);
        let letter: i64 = lab.value("select id from jobkit.dead_letters").await;
        let admin = jobkit::Admin::new(lab.pool());
        if discard {
            admin.dead_letter(DeadLetterId(letter)).discard().await.unwrap();
        } else {
            let args = serde_json::json!({ "number": 1, "then": "Add" });
            lab.run(&format!("select jobkit.replay({letter}, p_args => '{args}')")).await;
        }
        ended(&lab).await;
        // The replay adds two.
        let (finished, discarded) = if discard { (0, 1) } else { (3, 0) };
        let (_, end) = seen.called().into_iter().find(|(name, _)| name == "then").unwrap();
        assert_eq!((end.finished, end.discarded, end.dead), (finished, discarded, 0));
        let all = seen.names().contains(&"if all".to_owned());
        assert_eq!(all, !discard, "{:?}", seen.names());
        worker.stop().await;
    }
}

#[tokio::test]
async fn cancelling_a_batch_cancels_what_has_not_ended() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let later = || Part::of(Then::Finish).options().after(Duration::from_secs(3600));
    let batch = enqueue(&lab, Batch::of((0..5).map(|_| later()))).await;
    let operation = format!("select jobkit.cancel_batch({}, 'no need', 'ann')", batch.id());
    assert!(lab.value::<Option<i64>>(&operation).await.is_some());
    let mut connection = lab.pool().acquire().await.unwrap();
    let json = serde_json::json!(batch.id());
    let open: OpenBatch = serde_json::from_value(json).unwrap();
    let late = open.add([later()], &mut connection).await.unwrap_err();
    assert!(matches!(&late, EnqueueError::BatchClosed(why) if why.contains("cancelled")), "{late}");
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    assert_eq!(seen.names(), ["then"]);
    assert_eq!(seen.called()[0].1.cancelled, 5);
    assert_eq!(lab.value::<Option<i64>>(&operation).await, None, "it has ended");
    worker.stop().await;
}

/// A callback is a job: it can be cancelled while it waits, and its dead letter replayed.
#[tokio::test]
async fn a_cancelled_callback_does_not_run() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    enqueue(&lab, Batch::of([Part::of(Then::Finish)])).await;
    let callback: i64 = lab.value("select then_job from jobkit.batches").await;
    let admin = jobkit::Admin::new(lab.pool());
    assert!(admin.job(JobId(callback)).reschedule(None).await.is_err(), "it waits for the batch");
    admin.job(JobId(callback)).cancel().await.unwrap();
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    assert_eq!(seen.names(), ["if all"]);
    worker.stop().await;
}

#[tokio::test]
async fn a_replay_of_a_dead_callback_knows_its_batch() {
    #[derive(Serialize, Deserialize)]
    #[job(max_attempts = 1)]
    struct Fragile {
        fails: bool,
    }
    impl Job<Seen> for Fragile {
        async fn run(self, cx: JobContext<Seen>) -> jobkit::Result {
            let end = cx.batch_end().await?.expect("it is a callback");
            cx.state().called.lock().unwrap().push((self.fails.to_string(), end));
            if self.fails { Err("broken".into()) } else { Ok(()) }
        }
    }
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = Batch::of([Part::of(Then::Finish)]).then(Fragile { fails: true });
    let batch = batch.enqueue(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let worker = worker(&lab, &seen).only::<(Part, Fragile)>().start().await.unwrap();
    lab.until("exists (select from jobkit.dead_letters)").await;
    let letter: i64 = lab.value("select id from jobkit.dead_letters").await;
    lab.run(&format!("select jobkit.replay({letter})")).await;
    lab.until("(select cycles = 2 and state = 'open' from jobkit.dead_letters)").await;
    lab.run("select jobkit.prune_batches('-1 hour', 10)").await;
    lab.run(&format!("select jobkit.replay({letter}, p_args => '{{\"fails\": false}}')")).await;
    ended(&lab).await;
    assert_eq!(seen.names(), ["true", "true", "false"]);
    assert!(seen.called().iter().all(|(_, end)| end.id == batch.id() && end.finished == 1));
    lab.run("select jobkit.prune_batches('-1 hour', 10)").await;
    assert_eq!(lab.count("jobkit.batches").await, 0);
    assert_eq!(lab.count("jobkit.batch_counts").await, 0);
    worker.stop().await;
}

#[tokio::test]
async fn a_member_that_coalesces_expires_or_is_superseded_has_ended() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let coalesces = || Part::of(Then::Finish).options().coalesce_key("k");
    let expires = Part::of(Then::Finish).options().expires(Duration::from_secs(1));
    enqueue(&lab, Batch::of([coalesces(), coalesces()]).with([expires])).await;
    lab.run(
        "update jobkit.jobs set run_at = run_at - interval '1 h', created_at = created_at -
        interval '1 h' where terms is not null",
    )
    .await;
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    let (_, end) = seen.called().into_iter().find(|(name, _)| name == "then").unwrap();
    assert_eq!((end.members, end.finished, end.expired, end.replaced), (3, 1, 1, 1));
    worker.stop().await;
}
