//! Operations that a script carries out without a worker, or beside some.

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::operations::{BulkAction, OperationState};
use jobkit_tests::Lab;

use super::kit::Desk;
use super::operations::query;

in_a_lab![
    a_pace_holds_for_all_who_carry_it_out,
    many_carry_out_one_operation_together,
    a_cancelled_operation_is_not_carried_on,
];

/// Whoever takes the steps: one that comes too early is told that there is nothing to do.
pub(crate) async fn a_pace_holds_for_all_who_carry_it_out(lab: Lab) {
    let desk = Desk::at(lab).await;
    desk.alike(30).await;
    let open = BulkAction::Replay(DeadLetterFilter::all());
    let begun = desk.admin.begin_operation(&open, "", "once").per_second(10).await.unwrap();
    let before: String = desk.lab.value("select clock_timestamp()::text").await;
    assert_eq!(desk.step(begun.id, 500).await.as_deref(), Some("step"));
    assert_eq!(desk.operation(begun.id).await.done, 10);
    let rests = format!(
        "select next_at - interval '1 s' between '{before}' and clock_timestamp()
        from jobkit.operations"
    );
    assert!(desk.lab.value::<bool>(&rests).await);
    // However long it takes to ask again.
    desk.lab.run("update jobkit.operations set next_at = clock_timestamp() + '990 ms'").await;
    assert_eq!(desk.step(begun.id, 500).await, None);
    desk.lab.run("update jobkit.operations set next_at = clock_timestamp() + '1 s'").await;
    let worker = desk.start().await;
    let ended = desk.admin.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!((ended.state, ended.done, ended.skipped), (OperationState::Done, 30, 0));
    let took = ended.ended_at.unwrap() - ended.started_at.unwrap();
    assert!(took.num_milliseconds() >= 2_000, "{took}");
    worker.stop().await;
    desk.lab.check_invariants().await;
}

/// Each dead letter is replayed by one of them.
pub(crate) async fn many_carry_out_one_operation_together(lab: Lab) {
    let desk = Desk::with_worker(lab).await;
    desk.alike(3_000).await;
    let open = BulkAction::Replay(DeadLetterFilter::all());
    let id = desk.begin(&open, "once").await.id;
    let carry_out = || {
        let admin = desk.admin.clone();
        tokio::spawn(async move { admin.operation(id).run().await.unwrap().unwrap() })
    };
    for ended in [carry_out(), carry_out(), carry_out()] {
        let ended = ended.await.unwrap();
        assert_eq!((ended.state, ended.done, ended.skipped), (OperationState::Done, 3_000, 0));
    }
    assert_eq!(desk.lab.count("jobkit.jobs").await, 3_000);
    desk.lab.check_invariants().await;
}

/// Operations take turns where workers do them; who carries one out does that one.
#[tokio::test]
async fn no_other_operation_is_carried_out() {
    let desk = Desk::new().await;
    let (first, second) = (desk.pay_in("default", "a").await, desk.pay_in("slow", "b").await);
    let other = desk.begin(&BulkAction::Cancel(query("queue:default")), "other").await;
    let begun = desk.begin(&BulkAction::Cancel(query("queue:slow")), "this").await;
    let ended = desk.admin.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!((ended.state, ended.done), (OperationState::Done, 1));
    assert_eq!(desk.operation(other.id).await.state, OperationState::Pending);
    assert_eq!(desk.place(first).await, "ready");
    assert_eq!(desk.lab.count(&format!("jobkit.jobs where id = {second}")).await, 0);
}

#[tokio::test]
async fn what_is_not_there_is_not_carried_out() {
    let desk = Desk::without_worker().await;
    assert_eq!(desk.admin.operation(7).run().await.unwrap(), None);
}

pub(crate) async fn a_cancelled_operation_is_not_carried_on(lab: Lab) {
    let desk = Desk::with_worker(lab).await;
    let job = desk.pay("a").await;
    let begun = desk.begin(&BulkAction::Cancel(query("")), "once").await;
    assert!(desk.admin.operation(begun.id).cancel().await.unwrap());
    let ended = desk.admin.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!((ended.state, ended.done), (OperationState::Cancelled, 0));
    assert_eq!(desk.place(job).await, "ready");
}
