//! Acknowledgements beside each other, and beside what happens again.

use jobkit::Admin;
use jobkit_tests::Lab;
use jobkit_tests::incidents::INCIDENTS;

use super::kit::{ENDS, World};

in_a_lab![
    t290_of_two_acknowledgements_at_once_the_later_look_counts,
    t291_what_happens_between_the_look_and_the_acknowledgement_rings,
    t292_an_acknowledgement_beside_forgotten_ones_waits_for_nobody,
    an_outage_is_no_broken_promise,
];

/// The only worker is killed while jobs are blocked behind a rate: nobody is there to run them.
pub(crate) async fn an_outage_is_no_broken_promise(lab: Lab) {
    let killed = INCIDENTS.iter().find(|incident| incident.words[0].contains("silent: web-1"));
    killed.unwrap().stage_in(&lab).await;
    let admin = Admin::new(lab.pool());
    assert_eq!(admin.violations().await.unwrap(), []);
    let diagnosis = admin.doctor().await.unwrap();
    assert!(diagnosis.findings[0].found.starts_with("no worker is alive"), "{diagnosis:#?}");
}

fn acknowledge(up_to: &str, actor: &str) -> String {
    format!("select jobkit.acknowledge('late_queue', 'mail', {up_to}, 'seen', '{actor}')::text")
}

/// Somebody saw the page an hour ago, and sends the form behind another.
pub(crate) async fn t290_of_two_acknowledgements_at_once_the_later_look_counts(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        world.lab.run("delete from jobkit.acknowledged").await;
        let first = world.hold(acknowledge("now() - interval '1 min'", "ada")).await;
        let second = first.waiter(acknowledge("now() - interval '1 h'", "bob")).await;
        first.end(end).await;
        assert!(second.answer().await.is_ok());
        let late = "jobkit.acknowledged where up_to > now() - interval '30 min' and actor = 'bob'";
        assert_eq!(world.lab.count(late).await, end.either(1, 0));
    }
    world.lab.check_invariants().await;
}

/// A second crash, which nobody has seen, is not acknowledged with the first.
pub(crate) async fn t291_what_happens_between_the_look_and_the_acknowledgement_rings(lab: Lab) {
    let admin = Admin::new(lab.pool());
    let lost = "insert into jobkit.lost_workers (id, name, jobs) values (7, 'web-2:7', 0)";
    lab.run(lost).await;
    let seen = admin.overview().await.unwrap();
    assert_eq!(seen.attention[0].name(), "lost_worker");
    lab.run(lost).await;
    let (what, subject) = ("lost_worker", "web-2");
    assert!(admin.attention(what, subject).acknowledge(Some(seen.at), "").await.unwrap());
    assert_eq!(admin.overview().await.unwrap().attention[0].subject(), subject);
    let seen = admin.overview().await.unwrap();
    assert!(admin.attention(what, subject).acknowledge(Some(seen.at), "").await.unwrap());
    assert_eq!(admin.overview().await.unwrap().attention, []);
}

pub(crate) async fn t292_an_acknowledgement_beside_forgotten_ones_waits_for_nobody(lab: Lab) {
    lab.run(
        "insert into jobkit.acknowledged (what, subject, up_to, at)
        select 'late_queue', i::text, now(), now() - interval '31 d' from generate_series(1, 3) i",
    )
    .await;
    let mut holder = lab.session("holder").await;
    holder
        .run("begin; select from jobkit.acknowledged where subject = '2' for update")
        .await
        .unwrap();
    let mut other = lab.session("other").await;
    other.run("set lock_timeout = '2s'").await.unwrap();
    other.run(&acknowledge("now()", "ada")).await.unwrap();
    assert_eq!(lab.count("jobkit.acknowledged where subject in ('1', '3')").await, 0);
    holder.run("rollback").await.unwrap();
    assert_eq!(lab.count("jobkit.acknowledged").await, 2);
}
