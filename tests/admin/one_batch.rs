//! A batch that somebody looks at.

use jobkit_tests::Lab;

/// Opens a batch with the callbacks `merge` (when it has ended) and `alarm` (at the first dead
/// letter), adds members of the kind `page` that are due in an hour, and returns its id.
pub(crate) async fn open(lab: &Lab, members: u32) -> i64 {
    let batch: i64 = lab
        .value(
            "select jobkit.open_batch(jobkit.new_jobs(p_kind => '{merge,alarm}',
                p_queue => '{mail,mail}', p_priority => '{0,0}', p_max_attempts => '{3,3}',
                p_args => '{\"{}\",\"{}\"}'), '{then,else}')",
        )
        .await;
    add(lab, batch, members).await;
    batch
}

pub(crate) async fn add(lab: &Lab, batch: i64, members: u32) {
    lab.run(&format!(
        "select count(*) from jobkit.add_to_batch({batch}, (
            select jobkit.new_jobs(p_kind => array_fill('page'::text, n),
                p_queue => array_fill('mail'::text, n), p_priority => array_fill(0::smallint, n),
                p_max_attempts => array_fill(3::smallint, n), p_args => array_fill('{{}}'::text, n),
                p_run_at => array_fill(now() + '1 h', n))
            from (select array[{members}] as n) n))"
    ))
    .await;
}

/// Nobody adds more.
pub(crate) async fn close(lab: &Lab, batch: i64) {
    lab.run(&format!("select jobkit.close_batch({batch})")).await;
}

/// Ends this member in this way, or makes it a dead letter (`bury`).
pub(crate) async fn end(lab: &Lab, job: i64, outcome: &str) {
    lab.run(&format!(
        "select jobkit.finished_prepare(2);
        select jobkit.register({job}, 'web-{job}', '{{mail}}', '{{page}}', '1 day', '{{10}}');
        select jobkit.reschedule(array[{job}], null);
        select from jobkit.claim({job}, 1, '{{page}}', '{{mail}}', '{{1}}');
        select jobkit.settle({job}, jobkit.outcomes('{{1}}', '{{{job}}}', '{{{outcome}}}',
            p_error => '{{no such page}}', p_keep => '{{1 h}}'))"
    ))
    .await;
}
