//! What operators write for those who ask later has an end.

use jobkit::Enqueue;
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::limits::LimitFilter;
use jobkit::admin::operations::BulkAction;
use jobkit::error::InvalidValue;

use super::kit::{Desk, HOUR};
use crate::jobs::Noop;

/// Whether it was refused for this text.
fn is_refused<T>(done: Result<T, AdminError>, text: &str) -> bool {
    let Err(AdminError::Invalid(InvalidValue::Length { what, bytes, limit })) = done else {
        return false;
    };
    (what, bytes, limit) == (text, 4097, 4096)
}

#[tokio::test]
async fn a_reason_and_a_note_have_4096_bytes_at_most() {
    let desk = Desk::new().await;
    let (admin, long) = (&desk.admin, &*"r".repeat(4097));
    let job = Noop.enqueue(desk.lab.pool()).await.unwrap();
    assert!(is_refused(admin.queue("slow").pause(long).await, "reason"));
    assert!(is_refused(admin.kind("noop").pause(long).await, "reason"));
    assert!(is_refused(admin.schedule("nightly").pause(long).await, "reason"));
    assert!(is_refused(admin.key("g", "k").pause_for(HOUR, long).await, "reason"));
    assert!(is_refused(admin.job(job).discard(long).await, "reason"));
    assert!(is_refused(admin.cause("f").note(long).await, "note"));
    let all = BulkAction::DiscardDeadLetters(DeadLetterFilter::all());
    assert!(is_refused(admin.begin_operation(&all, long, "once").await, "reason"));
    for from in ["audit", "limits where paused_at is not null", "causes", "operations"] {
        assert_eq!(desk.lab.count(&format!("jobkit.{from}")).await, 0, "{from}");
    }
    // One byte fewer is kept whole, and who acts is cut.
    assert!(admin.acting_as(&"a".repeat(4096)).queue("slow").pause(&long[1..]).await.unwrap());
    let paused = admin.limits(&LimitFilter::all()).await.unwrap();
    let paused = paused.into_iter().find_map(|limit| limit.paused).unwrap();
    assert_eq!(paused.reason.as_deref(), Some(&long[1..]));
    assert!(paused.actor.is_some_and(|actor| actor.len() <= 512 && actor.ends_with("(cut)")));
}

#[tokio::test]
async fn so_it_is_in_sql() {
    let desk = Desk::new().await;
    let job = Noop.enqueue(desk.lab.pool()).await.unwrap();
    let mut session = desk.lab.session("operator").await;
    for act in [
        "jobkit.pause_limit('queue', 'slow', null, null, 'ada', repeat('r', 4097))",
        "jobkit.pause_limit('all', '', null, null, 'ada', repeat('r', 4097))",
        "jobkit.pause_limit('queue', 'slow', null, null, repeat('a', 513), 'why')",
        "jobkit.note_cause('f', repeat('n', 4097), 'ada')",
        &format!(
            "jobkit.cancel_mark('{{{job}}}', 'discard', 'ada',
                jsonb_build_object('reason', repeat('r', 4097)))"
        ),
    ] {
        let error = session.run(&format!("select {act}")).await.unwrap_err();
        let answer = error.as_database_error().unwrap();
        assert_eq!(answer.code().as_deref(), Some("JK008"), "{act}: {error}");
        assert!(answer.message().contains("bytes; "), "{act}: {error}");
    }
    for from in ["audit", "limits where paused_at is not null", "causes"] {
        assert_eq!(desk.lab.count(&format!("jobkit.{from}")).await, 0, "{from}");
    }
    let held = "select jobkit.pause_limit('queue', 'slow', null, null,
        repeat('a', 512), repeat('r', 4096))";
    session.run(held).await.unwrap();
}
