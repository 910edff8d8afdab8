//! Limits of concurrency keys, and what is seen of them.

use jobkit::admin::AdminError;
use jobkit::admin::limits::{By, Change, Limited, Said, To};
use jobkit::admin::semaphores::{Semaphore, SemaphoreFilter};
use jobkit::error::InvalidValue;

use super::kit::{Desk, WORKER};

#[tokio::test]
async fn a_raised_limit_unblocks_at_once() {
    let desk = Desk::new().await;
    let jobs = desk.pay_all((0..6).map(|_| "a".to_owned())).await;
    assert_eq!(desk.claim().await.1, jobs[..1]);
    desk.limit(3).await;
    for job in &jobs[1..3] {
        assert_eq!(desk.place(*job).await, "ready with a permit");
    }
    assert_eq!(desk.place(jobs[3]).await, "blocked");
    desk.lab.check_invariants().await;
    let limited = desk.admin.key("pay", "a").set(&Change::new().running(4)).await.unwrap();
    assert_eq!(limited, Limited::Changed);
    assert_eq!(desk.place(jobs[3]).await, "ready with a permit");
    assert_eq!(desk.place(jobs[4]).await, "blocked");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_lowered_limit_takes_nothing_and_grants_nothing_until_fewer_are_taken() {
    let desk = Desk::new().await;
    desk.limit(3).await;
    let jobs = desk.pay_all((0..6).map(|_| "a".to_owned())).await;
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed, jobs[..3]);
    desk.limit(1).await;
    for running in &jobs[..3] {
        assert_eq!(desk.place(*running).await, "running with a permit");
        assert_eq!(desk.place(jobs[3]).await, "blocked");
        desk.settle(n, *running, "finish").await;
        desk.lab.check_invariants().await;
    }
    assert_eq!(desk.place(jobs[3]).await, "ready with a permit");
    assert_eq!(desk.place(jobs[4]).await, "blocked");
}

#[tokio::test]
async fn zero_stops_a_key_and_none_gives_it_back() {
    let desk = Desk::new().await;
    let limited = desk.admin.key("pay", "a").set(&Change::new().running(0)).await.unwrap();
    assert_eq!(limited, Limited::Changed);
    let stopped = desk.blocked("a").await;
    desk.running("b").await;
    desk.limit(5).await;
    assert_eq!(desk.place(stopped).await, "blocked");
    let limited = desk.admin.key("pay", "a").set(&Change::new().running(To::Reset)).await.unwrap();
    assert_eq!(limited, Limited::Changed);
    assert_eq!(desk.place(stopped).await, "ready with a permit");
    desk.limit(0).await;
    let stopped = desk.blocked("c").await;
    let limited = desk.admin.group("pay").set(&Change::new().running(To::Reset)).await.unwrap();
    assert_eq!(limited, Limited::Changed);
    assert_eq!(desk.place(stopped).await, "ready with a permit");
    desk.lab.check_invariants().await;
    // A key that nobody uses and that has no limit of its own leaves nothing behind.
    let _ = desk.admin.key("pay", "unused").set(&Change::new().running(7)).await.unwrap();
    let _ = desk.admin.key("pay", "unused").set(&Change::new().running(To::Reset)).await.unwrap();
    assert!(desk.admin.semaphore("pay", "unused").await.unwrap().is_none());
}

#[tokio::test]
async fn an_unknown_group_is_an_answer_and_changes_nothing() {
    let desk = Desk::new().await;
    let unknown = Limited::Unknown;
    assert_eq!(desk.admin.group("payy").set(&Change::new().running(1)).await.unwrap(), unknown);
    assert_eq!(desk.admin.key("payy", "a").set(&Change::new().running(1)).await.unwrap(), unknown);
    assert_eq!(desk.lab.count("jobkit.semaphores").await, 0);
    let running = async || {
        let limit = desk.admin.group("pay").get().await.unwrap().unwrap();
        limit.running.map(|Said { value, by, .. }| (value, by))
    };
    assert_eq!(running().await, Some((Some(1), By::Code)));
    desk.limit(1_000_000).await;
    assert_eq!(running().await, Some((Some(1_000_000), By::Operator)));
    assert!(desk.admin.group("payy").get().await.unwrap().is_none());
}

#[tokio::test]
async fn limits_and_names_out_of_range_are_refused() {
    let desk = Desk::new().await;
    let (admin, long) = (&desk.admin, "x".repeat(513));
    for limit in [1_000_001, u32::MAX] {
        let error = admin.group("pay").set(&Change::new().running(limit)).await.unwrap_err();
        assert!(
            matches!(error, AdminError::Invalid(InvalidValue::Range { what: "limit", .. })),
            "{error}"
        );
        let error = admin.key("pay", "a").set(&Change::new().running(limit)).await.unwrap_err();
        assert!(
            matches!(error, AdminError::Invalid(InvalidValue::Range { what: "limit", .. })),
            "{error}"
        );
    }
    let (all, reset) = (SemaphoreFilter::all(), Change::new().running(To::Reset));
    for error in [
        admin.group("").set(&reset).await.unwrap_err(),
        admin.key(&long, "").set(&reset).await.unwrap_err(),
        admin.key("pay", &long).set(&reset).await.unwrap_err(),
        admin.semaphore("pay", &long).await.unwrap_err(),
        admin.semaphores(&all.clone().group(&*long), None, 1).await.unwrap_err(),
        admin.semaphores(&all, Some((&*long, "")), 1).await.unwrap_err(),
    ] {
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
    }
    let error = admin.key("pay", "\0").set(&Change::new().running(1)).await.unwrap_err();
    assert!(
        matches!(error, AdminError::Invalid(InvalidValue::Nul { what: "concurrency key" })),
        "{error}"
    );
    for size in [0, 501] {
        let error = admin.semaphores(&all, None, size).await.unwrap_err();
        assert!(
            matches!(
                error,
                AdminError::Invalid(InvalidValue::Range { what: "size of the page", .. })
            ),
            "{error}"
        );
    }
}

fn keys(page: &[Semaphore]) -> Vec<&str> {
    page.iter().map(|semaphore| &*semaphore.key).collect()
}

#[tokio::test]
async fn semaphores_are_listed_page_by_page_as_they_are_meant() {
    let desk = Desk::new().await;
    desk.lab.run(&jobkit_tests::announce_group("other", 9)).await;
    // "B" and "Ä" sort by their bytes, and an empty key is a key.
    let accounts = ["", "B", "a", "b", "Ä"];
    desk.pay_all(accounts.map(str::to_owned)).await;
    desk.pay_all(["a", "a", "b"].map(str::to_owned)).await;
    assert_eq!(desk.claim().await.1.len(), 5);
    let _ = desk.admin.key("pay", "b").set(&Change::new().running(2)).await.unwrap();
    let _ = desk.admin.key("other", "b").set(&Change::new().running(3)).await.unwrap();

    let (mut found, mut after): (Vec<Semaphore>, Option<(String, String)>) = (Vec::new(), None);
    loop {
        let from = after.as_ref().map(|(group, key)| (&**group, &**key));
        let page = desk.admin.semaphores(&SemaphoreFilter::all(), from, 4).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.group.clone(), last.key.clone()));
        found.extend(page);
    }
    assert_eq!(keys(&found), ["b", "", "B", "a", "b", "Ä"]);
    assert_eq!(found[0].group, "other");
    let numbers = |s: &Semaphore| (s.limit, s.override_limit, s.taken, s.blocked);
    assert_eq!(numbers(&found[0]), (3, Some(3), 0, 0));
    assert_eq!(numbers(&found[3]), (1, None, 1, 2));
    assert_eq!(numbers(&found[4]), (2, Some(2), 2, 0));
    assert!(found[3].blocked_since.is_some() && found[4].blocked_since.is_none());

    let list =
        async |filter: SemaphoreFilter| desk.admin.semaphores(&filter, None, 500).await.unwrap();
    let all = SemaphoreFilter::all;
    assert_eq!(keys(&list(all().group("other")).await), ["b"]);
    assert_eq!(keys(&list(all().at_limit()).await), ["", "B", "a", "b", "Ä"]);
    assert_eq!(keys(&list(all().blocked()).await), ["a"]);
    assert_eq!(keys(&list(all().group("other").at_limit().blocked()).await), [""; 0]);
    let _ = desk.admin.key("pay", "B").set(&Change::new().running(9)).await.unwrap();
    assert_eq!(keys(&list(all().at_limit()).await), ["", "a", "b", "Ä"]);
}

#[tokio::test]
async fn one_semaphore_shows_who_holds_and_who_waits_in_order() {
    let desk = Desk::new().await;
    desk.limit(2).await;
    let jobs = desk.pay_all((0..150).map(|_| "a".to_owned())).await;
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed, jobs[..2]);
    desk.settle(n, jobs[0], "release").await;
    let detail = desk.admin.semaphore("pay", "a").await.unwrap().unwrap();
    assert_eq!((detail.semaphore.taken, detail.semaphore.blocked), (2, 148));
    let holders: Vec<_> = detail.holders.iter().map(|held| (held.job, held.worker)).collect();
    assert_eq!(holders, [(jobs[1], Some(WORKER)), (jobs[0], None)]);
    let blocked: Vec<_> = detail.blocked.iter().map(|blocked| blocked.job).collect();
    assert_eq!(blocked, jobs[2..102]);
    let first = &detail.blocked[0];
    assert_eq!((&*first.kind, &*first.queue, first.priority), ("pay", "default", 0));
    assert!(detail.semaphore.blocked_since.unwrap() <= first.since);
    // What has the most urgent priority is first, whenever it came.
    let urgent = format!("update jobkit.jobs set priority = -1 where id = {}", jobs[149]);
    desk.lab.run(&urgent).await;
    let urgent = "update jobkit.blocked_executions set priority = -1 where job_id";
    desk.lab.run(&format!("{urgent} = {}", jobs[149])).await;
    let detail = desk.admin.semaphore("pay", "a").await.unwrap().unwrap();
    assert_eq!(detail.blocked[0].job, jobs[149]);
    assert!(desk.admin.semaphore("pay", "b").await.unwrap().is_none());
}

#[tokio::test]
async fn blocked_jobs_are_counted_as_far_as_ten_thousand() {
    let desk = Desk::new().await;
    desk.running("a").await;
    desk.blocked("a").await;
    desk.lab
        .run(
            "insert into jobkit.blocked_executions
            select 'pay', 'a', 3, -i, 'default', 'pay', now() - interval '1 hour'
            from generate_series(1, 10500) i",
        )
        .await;
    let semaphore = desk.admin.semaphore("pay", "a").await.unwrap().unwrap().semaphore;
    assert_eq!(semaphore.blocked, 10_000);
}

/// A key gives no more than 1,000 permits in a transaction.
#[tokio::test]
async fn what_a_raised_limit_of_a_key_leaves_over_is_explained_to_the_next_sweep() {
    let desk = Desk::new().await;
    desk.pay_all((0..1300).map(|_| "a".to_owned())).await;
    let claimed = desk.claim().await.1;
    assert_eq!(claimed.len(), 1);
    while desk.lab.count("jobkit.ready").await > 0 {
        assert_eq!(desk.claim().await.1, []);
    }
    desk.lab
        .run(
            "update jobkit.workers set started_at = '-infinity';
            update jobkit.limits set changed_at = '-infinity'",
        )
        .await;
    let explained = "select explained from jobkit.sweep_begin('0 s')";
    assert!(!desk.lab.value::<bool>(explained).await, "of an earlier sweep");
    let raise = "select jobkit.set_limit('key', 'pay', 'a', '{\"running\": 20}')";
    assert!(desk.lab.value::<bool>(raise).await);
    assert!(!desk.lab.value::<bool>(explained).await, "it left nothing over");
    assert!(
        desk.lab
            .value::<bool>("select jobkit.set_limit('key', 'pay', 'a', '{\"running\": 5000}')")
            .await
    );
    assert_eq!(desk.lab.count("jobkit.blocked_executions").await, 1300 - 20 - 1000);
    assert!(desk.lab.value::<bool>(explained).await);
}
