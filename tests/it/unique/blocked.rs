//! A unique key together with a concurrency key.

use jobkit::Enqueue;
use jobkit::unique::{Enqueued, OnDuplicate, While};
use jobkit_tests::Lab;

use super::stage::{Stage, claim, clear, place, prepare};
use crate::races::calls::settle;

/// The row of a job, and where it is.
async fn all_of(lab: &Lab, job: i64) -> (String, String) {
    let row = format!("select to_jsonb(j)::text from jobkit.jobs j where id = {job}");
    (lab.value(&row).await, place(lab, job).await)
}

/// It has its key, however long that is for; whatever a duplicate asks for, and whether it commits,
/// the job that waits for its permit stays as it is.
#[tokio::test]
async fn a_job_that_waits_for_a_permit_or_has_one_is_not_changed() {
    let lab = Lab::guarded().await;
    prepare(&lab).await;
    for stage in [Stage::Blocked, Stage::WithPermit] {
        for during in [While::Queued, While::Running, While::Unfinished] {
            let job = stage.set(&lab, during).await.unwrap();
            let before = all_of(&lab, job).await;
            for what in [OnDuplicate::Skip, OnDuplicate::Replace, OnDuplicate::Debounce] {
                for commits in [false, true] {
                    let mut tx = lab.pool().begin().await.unwrap();
                    let duplicate = stage.touch("after").options().unique_while(during);
                    let answer = duplicate.on_duplicate(what).enqueue_unique(&mut *tx).await;
                    assert_eq!(answer.unwrap(), Enqueued::Existing(jobkit::JobId(job)), "{what:?}");
                    if commits {
                        tx.commit().await.unwrap();
                    }
                }
                assert_eq!(all_of(&lab, job).await, before, "{stage:?} {what:?}");
            }
            assert_eq!(lab.count("jobkit.jobs where unique_key = 'k'").await, 1);
            lab.check_invariants().await;
            clear(&lab).await;
        }
    }
}

/// One follows, and no more; it waits for the end of the other, and then for its permit as any job.
#[tokio::test]
async fn behind_a_job_that_waits_for_a_permit_one_runs_again() {
    let lab = Lab::guarded().await;
    prepare(&lab).await;
    for stage in [Stage::Blocked, Stage::WithPermit] {
        let job = stage.set(&lab, While::Unfinished).await.unwrap();
        let before = all_of(&lab, job).await;
        let again = async |by: &str| {
            let duplicate = stage.touch(by).options().on_duplicate(OnDuplicate::RunAgain);
            duplicate.enqueue_unique(lab.pool()).await.unwrap()
        };
        let Enqueued::New(follower) = again("second").await else { panic!("{stage:?}") };
        assert_eq!(again("third").await, Enqueued::Replaced(follower));
        assert_eq!(all_of(&lab, job).await, before, "{stage:?}");
        if stage == Stage::Blocked {
            let first = "select n, job_ids[1] from jobkit.claims";
            let (n, first): (i64, i64) = sqlx::query_as(first).fetch_one(lab.pool()).await.unwrap();
            lab.run(&settle(1, n, first, "finish")).await;
        }
        let n = claim(&lab).await;
        assert_eq!(place(&lab, job).await, "claimed");
        assert_eq!(place(&lab, follower.0).await, "scheduled");
        lab.run(&settle(1, n, job, "finish")).await;
        claim(&lab).await;
        assert_eq!(place(&lab, follower.0).await, "claimed");
        let by = format!("select args ->> 'by' from jobkit.jobs where id = {follower}");
        assert_eq!(lab.value::<String>(&by).await, "third");
        lab.check_invariants().await;
        clear(&lab).await;
    }
}
