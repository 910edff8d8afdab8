//! A queue with a worker that knows one kind.

use jobkit_tests::Lab;

pub(crate) async fn lab() -> Lab {
    let lab = Lab::new().await;
    lab.run(
        "select jobkit.finished_prepare(2);
        insert into jobkit.kinds (kind, queue, priority, max_attempts, retention_discarded)
        values ('sync', 'mail', 0, 3, '1 h');
        select jobkit.register(31, 'w', array['mail'], array['sync'], '1 day', array[10])",
    )
    .await;
    lab
}

/// The worker's claim of this number.
pub(crate) async fn claim(lab: &Lab, n: u32) {
    lab.run(&format!(
        "select count(*) from jobkit.claim(31, {n}, array['sync'], array['mail'], array[10])"
    ))
    .await;
}
