//! A wait beside the end of its job: either the end reads the mark of the wait, or the wait finds
//! the job in its hands.

use jobkit_tests::Lab;

use super::calls::settle;
use super::kit::{ENDS, End, World};

in_a_lab![t180_an_end_behind_a_wait_tells, t181_a_wait_beside_an_end_finds_it_held,];

/// The call of a wait, with what it finds of the job.
fn await_job(job: i64) -> String {
    format!("select string_agg(a.state, ' ') from jobkit.await_jobs('{{{job}}}') a")
}

/// T180: a settle that waits for the mark reads it, and notifies.
pub(crate) async fn t180_an_end_behind_a_wait_tells(lab: Lab) {
    let world = World::new(lab).await;
    let mut listener = sqlx::postgres::PgListener::connect_with(world.lab.direct()).await.unwrap();
    listener.listen("jobkit_end").await.unwrap();
    for outcome in ["finish", "discard", "cancel", "bury"] {
        for end in ENDS {
            let (n, [x]) = world.running().await;
            let first = world.hold(await_job(x)).await;
            assert_eq!(first.answer, "live");
            let second = first.waiter(settle(1, n, x, outcome)).await;
            first.end(end).await;
            assert_eq!(second.answer().await.as_deref(), Ok(""));
            // Behind it: whatever was told before has come by then.
            world.lab.run("select pg_notify('jobkit_end', 'last')").await;
            let mut told = 0;
            while listener.recv().await.unwrap().payload() != "last" {
                told += 1;
            }
            assert_eq!(told, i32::from(end == End::Commit), "{outcome} {end:?}");
        }
    }
    world.lab.check_invariants().await;
}

/// T181: a wait that comes while the end is under way waits for nobody, and asks again.
pub(crate) async fn t181_a_wait_beside_an_end_finds_it_held(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x]) = world.running().await;
        let first = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(world.call(await_job(x)).await, "held");
        first.end(end).await;
        assert_eq!(world.call(await_job(x)).await, end.pick("gone", "live"));
    }
    world.lab.check_invariants().await;
}
