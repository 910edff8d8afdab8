//! Publishing, announcing and unsubscribing at once: nobody who publishes waits, and one subscriber
//! is never two.

use jobkit_tests::Lab;

use super::kit::{ENDS, World};

in_a_lab![
    a_publish_waits_for_no_change_of_subscriptions,
    no_change_of_subscriptions_waits_for_a_publish,
    two_names_of_a_kind_announced_at_once_are_one_subscriber,
    announcements_in_other_orders_do_not_clash,
    an_announcement_and_an_unsubscription_take_turns,
];

/// What a binary announces: kinds of the topic `t`, each with an earlier name or `null`.
fn announce(kinds: &[(&str, &str)]) -> String {
    let column = |of: fn(&(&str, &str)) -> String| {
        format!("'{{{}}}'", kinds.iter().map(of).collect::<Vec<_>>().join(","))
    };
    let (topics, names) = (column(|_| "t".to_owned()), column(|(kind, _)| (*kind).to_owned()));
    let aliases = column(|(_, alias)| (*alias).to_owned());
    format!("select jobkit.announce_subscriptions({topics}, {names}, {aliases})::text")
}

fn unsubscribe(kind: &str) -> String {
    format!("select jobkit.unsubscribe('t', '{kind}', 'ada')::text")
}

/// Answers the kinds that got a job.
fn publish() -> String {
    "select string_agg(f.kind, ' ') from jobkit.fan_out('t', '{}', null, null) as f".to_owned()
}

impl World {
    /// A world with the kinds `a`, `b` and `c`, of which the first two subscribe to `t`, and one
    /// to another topic. An announcement waits as long as it takes to see it wait.
    async fn subscribed(lab: Lab) -> Self {
        let world = Self::new(lab).await;
        for sql in [
            "insert into jobkit.kinds (kind, queue, priority, max_attempts)
                select k, 'default', 0, 3 from unnest('{a,b,c}'::text[]) k",
            "insert into jobkit.subscriptions (topic, kind)
                values ('t', 'a'), ('t', 'b'), ('other', 'c')",
            "alter function jobkit.announce_subscriptions set lock_timeout = '1min'",
        ] {
            world.lab.run(sql).await;
        }
        world
    }

    /// Asserts who gets a job of what is published now.
    async fn expect_subscribers(&self, kinds: &str) {
        assert_eq!(self.call(publish()).await, kinds);
    }
}

/// T220: it reads what was committed when it began.
pub(crate) async fn a_publish_waits_for_no_change_of_subscriptions(lab: Lab) {
    let world = World::subscribed(lab).await;
    for (change, then) in [
        (announce(&[("c", "null")]), "a b c"),
        (announce(&[("b", "null")]), "a b"),
        (announce(&[("c", "a")]), "b c"),
        (unsubscribe("a"), "b"),
    ] {
        for end in ENDS {
            world.lab.run("delete from jobkit.subscriptions where topic = 't'").await;
            assert_eq!(world.call(announce(&[("a", "null"), ("b", "null")])).await, "");
            let held = world.hold(change.clone()).await;
            assert_eq!(held.bystander(publish()).await, "a b", "{change}");
            held.end(end).await;
            world.expect_subscribers(end.pick(then, "a b")).await;
        }
    }
    world.lab.check_invariants().await;
}

/// T221: whoever publishes may keep the transaction open as long as it likes.
pub(crate) async fn no_change_of_subscriptions_waits_for_a_publish(lab: Lab) {
    let world = World::subscribed(lab).await;
    for end in ENDS {
        let held = world.hold(publish()).await;
        assert_eq!(held.answer, "a b");
        assert_eq!(held.bystander(publish()).await, "a b");
        assert_eq!(held.bystander(announce(&[("c", "a")])).await, "");
        assert_eq!(held.bystander(unsubscribe("b")).await, "true");
        assert_eq!(held.bystander(announce(&[("a", "null"), ("b", "null")])).await, "");
        held.end(end).await;
    }
    world.lab.check_invariants().await;
}

/// T222: a binary from before a rename and one from after it start at once, in either order.
pub(crate) async fn two_names_of_a_kind_announced_at_once_are_one_subscriber(lab: Lab) {
    let world = World::subscribed(lab).await;
    let (old, new) = ([("a", "null"), ("b", "null")], [("b", "null"), ("c", "a")]);
    for (first, second, [one, other]) in [(old, new, ["b c", "b c"]), (new, old, ["a b", "a b"])] {
        for end in ENDS {
            world.lab.run("delete from jobkit.subscriptions where topic = 't'").await;
            let held = world.hold(announce(&first)).await;
            let waiter = held.waiter(announce(&second)).await;
            held.end(end).await;
            assert_eq!(waiter.answer().await.as_deref(), Ok(""));
            world.expect_subscribers(end.pick(one, other)).await;
        }
    }
    // Neither takes over anything of another topic.
    assert_eq!(world.lab.count("jobkit.subscriptions where topic = 'other'").await, 1);
}

/// T223: they take the table, so no order of the kinds can make a deadlock.
pub(crate) async fn announcements_in_other_orders_do_not_clash(lab: Lab) {
    let world = World::subscribed(lab).await;
    for end in ENDS {
        let held = world.hold(announce(&[("b", "null")])).await;
        let waiter = held.waiter(announce(&[("a", "null"), ("b", "null")])).await;
        let held = held.go_on(announce(&[("a", "null")])).await;
        held.end(end).await;
        assert_eq!(waiter.answer().await.as_deref(), Ok(""));
        world.expect_subscribers("a b").await;
    }
    let at = "set transaction isolation level serializable";
    assert_eq!(world.refusal_after(at, announce(&[("a", "null")])).await, "JK002");
}

/// T224: the later one of the two counts.
pub(crate) async fn an_announcement_and_an_unsubscription_take_turns(lab: Lab) {
    let world = World::subscribed(lab).await;
    for end in ENDS {
        let held = world.hold(unsubscribe("b")).await;
        let waiter = held.waiter(announce(&[("b", "null")])).await;
        held.end(end).await;
        assert_eq!(waiter.answer().await.as_deref(), Ok(""));
        world.expect_subscribers("a b").await;

        let held = world.hold(announce(&[("b", "null")])).await;
        let waiter = held.waiter(unsubscribe("b")).await;
        held.end(end).await;
        assert_eq!(waiter.answer().await.as_deref(), Ok("true"));
        world.expect_subscribers("a").await;
        world.call(announce(&[("b", "null")])).await;
    }
    let noted = world.lab.count("jobkit.audit where action = 'unsubscribe'").await;
    assert_eq!(noted, 3, "a rollback notes nothing");
}
