//! Batches: who ends members, adds members, closes, cancels and looks, two at once.

use jobkit_tests::Lab;

use super::calls::{cancel_mark, claim, settle};
use super::kit::{ENDS, End, World, ids, next_n};

in_a_lab![
    two_last_ends_do_not_wait_and_the_batch_ends_after_both,
    a_batch_does_not_end_while_somebody_adds_to_it,
    who_joins_waits_for_the_look_that_ends_the_batch,
    a_look_passes_over_a_callback_that_is_being_cancelled,
    two_looks_call_once,
    a_close_counts_from_its_commit,
    a_cancel_waits_for_who_adds,
    who_adds_waits_for_a_cancel,
    a_discard_that_is_not_committed_keeps_the_batch_open,
    a_look_sees_what_was_added_before_it_locks,
];

/// Jobs as a record.
fn jobs(number: usize) -> String {
    let column = |value: &str| format!("array_fill({value}, array[{number}])");
    format!(
        "jobkit.new_jobs(p_kind => {}, p_queue => {}, p_priority => {}, p_max_attempts => {},
            p_args => {})",
        column("'act'::text"),
        column("'default'::text"),
        column("0::smallint"),
        column("1::smallint"),
        column("'{}'::text"),
    )
}

fn add(batch: i64, member: Option<i64>, number: usize) -> String {
    let member = member.map_or("null".to_owned(), |member| member.to_string());
    format!(
        "select string_agg(job_id::text, ' ' order by job_id)
        from jobkit.add_to_batch({batch}, {}, {member})",
        jobs(number)
    )
}

/// A member of a batch, whoever adds it.
fn insert(batch: i64) -> String {
    let jobs = jobs(1);
    let of_batch = jobs.trim_end_matches(')');
    format!("select jobkit.insert_jobs({of_batch}), p_batch_id => {batch}))::text")
}

fn close(batch: i64) -> String {
    format!("select jobkit.close_batch({batch})::text")
}

fn cancel(batch: i64) -> String {
    format!("select (jobkit.cancel_batch({batch}) is not null)::text")
}

fn join(batch: i64) -> String {
    format!("select jobkit.join_batch({batch}, '{{}}')::text")
}

/// How many tallies it took, batches it put off, and callbacks it called.
const LOOK: &str =
    "select concat_ws(' ', looked, put_off, called) from jobkit.look_at_batches(100)";

fn look() -> String {
    LOOK.to_owned()
}

/// An open batch with so many members, which nobody runs, and its callback.
async fn open<const N: usize>(world: &World) -> (i64, i64, [i64; N]) {
    let open = format!("select jobkit.open_batch({}, '{{then}}')::text", jobs(1));
    let batch = world.call(open).await.parse().unwrap();
    let members = ids(&world.call(add(batch, None, N)).await);
    let callback = world.lab.value("select max(then_job) from jobkit.batches").await;
    assert_eq!(world.call(look()).await, "1 0 0");
    (batch, callback, members)
}

/// A closed one.
async fn closed<const N: usize>(world: &World) -> (i64, i64, [i64; N]) {
    let (batch, callback, members) = open(world).await;
    world.call(close(batch)).await;
    assert_eq!(world.call(look()).await, "1 0 0");
    (batch, callback, members)
}

/// Claims the next job alone.
async fn claim_one(world: &World, job: i64) -> i64 {
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 1)).await, job.to_string());
    n
}

async fn finish(world: &World, job: i64) {
    let n = claim_one(world, job).await;
    assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
}

/// For the next round.
async fn clear(world: &World) {
    let tables = ["batches", "batch_tallies", "batch_counts", "batch_holds", "dead_letters"];
    let deletes = tables.map(|table| format!("delete from jobkit.{table}")).join("; ");
    let members = "update jobkit.jobs set batch_id = null, callback_of = null";
    world.lab.run(&format!("{members}; {deletes}")).await;
    world.clear().await;
}

const WAITS: &str = "scheduled, charged 0";
const CALLED: &str = "ready, charged 0";

/// Neither sees the end of the other, and none has to.
pub(crate) async fn two_last_ends_do_not_wait_and_the_batch_ends_after_both(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (_, callback, [one, other]) = closed(&world).await;
        let (first, second) = (claim_one(&world, one).await, claim_one(&world, other).await);
        let holder = world.hold(settle(1, first, one, "finish")).await;
        assert_eq!(holder.bystander(settle(1, second, other, "finish")).await, "");
        assert_eq!(holder.bystander(look()).await, "1 0 0");
        world.expect(callback, WAITS).await;
        holder.end(end).await;
        if end == End::Rollback {
            assert_eq!(world.call(look()).await, "0 0 0");
            assert_eq!(world.call(settle(1, first, one, "finish")).await, "");
        }
        assert_eq!(world.call(look()).await, "1 0 1");
        world.expect(callback, CALLED).await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn a_batch_does_not_end_while_somebody_adds_to_it(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, callback, [member]) = closed(&world).await;
        let n = claim_one(&world, member).await;
        let holder = world.hold(add(batch, Some(member), 1)).await;
        let [added] = ids(&holder.answer);
        assert_eq!(holder.bystander(settle(1, n, member, "finish")).await, "");
        assert_eq!(holder.bystander(look()).await, "1 1 0");
        assert_eq!(holder.bystander(look()).await, "1 1 0", "it remembers");
        holder.end(end).await;
        if end == End::Commit {
            assert_eq!(world.call(look()).await, "2 0 0");
            world.expect(callback, WAITS).await;
            finish(&world, added).await;
        }
        assert_eq!(world.call(look()).await, "1 0 1");
        world.expect(callback, CALLED).await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn who_joins_waits_for_the_look_that_ends_the_batch(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, _, [member]) = closed(&world).await;
        finish(&world, member).await;
        let holder = world.hold(look()).await;
        assert_eq!(holder.answer, "1 0 1");
        let waiter = holder.waiter(join(batch)).await;
        holder.end(end).await;
        assert_eq!(waiter.answer().await, end.either(Err("JK011".to_owned()), Ok(String::new())));
        assert_eq!(world.call(look()).await, end.pick("0 0 0", "1 0 1"));
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn a_look_passes_over_a_callback_that_is_being_cancelled(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, callback, [member]) = closed(&world).await;
        finish(&world, member).await;
        let holder = world.hold(cancel_mark(callback)).await;
        assert_eq!(holder.bystander(look()).await, "1 1 0");
        let is_open = format!("jobkit.batches where id = {batch} and ended_at is null");
        assert_eq!(world.lab.count(&is_open).await, 1);
        holder.end(end).await;
        // A cancelled one is called as well: whoever claims it ends it.
        assert_eq!(world.call(look()).await, "1 0 1");
        world.expect(callback, CALLED).await;
        assert_eq!(world.lab.count(&is_open).await, 0);
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn two_looks_call_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (_, callback, [one, other]) = closed(&world).await;
        finish(&world, one).await;
        finish(&world, other).await;
        let one_tally = LOOK.replace("100", "1");
        let holder = world.hold(one_tally).await;
        assert_eq!(holder.answer, "1 0 1");
        let waiter = holder.waiter(look()).await;
        holder.end(end).await;
        assert_eq!(waiter.answer().await.as_deref(), Ok(end.pick("1 0 0", "1 0 1")));
        assert_eq!(world.call(look()).await, end.pick("0 0 0", "1 0 0"));
        world.expect(callback, CALLED).await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn a_close_counts_from_its_commit(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, callback, [member]) = open(&world).await;
        let n = claim_one(&world, member).await;
        let holder = world.hold(close(batch)).await;
        assert_eq!(holder.bystander(settle(1, n, member, "finish")).await, "");
        assert_eq!(holder.bystander(look()).await, "1 0 0");
        world.expect(callback, WAITS).await;
        holder.end(end).await;
        if end == End::Rollback {
            world.call(close(batch)).await;
        }
        assert_eq!(world.call(look()).await, "1 0 1");
        world.expect(callback, CALLED).await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

/// Otherwise what is added would not be among the jobs that it cancels.
pub(crate) async fn a_cancel_waits_for_who_adds(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("alter function jobkit.cancel_batch set lock_timeout = '1min'").await;
    for end in ENDS {
        let (batch, _, [_member]) = open(&world).await;
        let holder = world.hold(add(batch, None, 1)).await;
        let [added] = ids(&holder.answer);
        let waiter = holder.waiter(cancel(batch)).await;
        holder.end(end).await;
        assert_eq!(waiter.answer().await.as_deref(), Ok("true"));
        let covers = "select total = 2 and up_to >= $1 from jobkit.operations";
        let covers = covers.replace("$1", &added.to_string());
        assert_eq!(world.lab.value::<bool>(&covers).await, end == End::Commit);
        assert_eq!(world.refusal(add(batch, None, 1)).await, "JK011");
        world.lab.run("delete from jobkit.operations").await;
        clear(&world).await;
    }
}

pub(crate) async fn who_adds_waits_for_a_cancel(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, _, [_member]) = open(&world).await;
        let holder = world.hold(cancel(batch)).await;
        let waiter = holder.waiter(add(batch, None, 1)).await;
        holder.end(end).await;
        let answer = waiter.answer().await;
        assert_eq!(answer.is_ok(), end == End::Rollback, "{answer:?}");
        world.lab.run("delete from jobkit.operations").await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

pub(crate) async fn a_discard_that_is_not_committed_keeps_the_batch_open(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (batch, callback, [member]) = closed(&world).await;
        world
            .lab
            .run(&format!("update jobkit.batches set hold_dead = true where id = {batch}"))
            .await;
        let n = claim_one(&world, member).await;
        assert_eq!(world.call(settle(1, n, member, "bury")).await, "");
        assert_eq!(world.call(look()).await, "1 0 0");
        let letter: i64 = world.lab.value("select id from jobkit.dead_letters").await;
        let discard = format!("select outcome from jobkit.discard_dead_letter({letter}, null)");
        let holder = world.hold(discard.clone()).await;
        assert_eq!(holder.bystander(look()).await, "0 0 0");
        world.expect(callback, WAITS).await;
        holder.end(end).await;
        if end == End::Rollback {
            assert_eq!(world.call(discard).await, "discard");
        }
        assert_eq!(world.call(look()).await, "2 0 1");
        world.expect(callback, CALLED).await;
        world.lab.check_invariants().await;
        clear(&world).await;
    }
}

/// It was empty when the look chose it, and is not any more.
pub(crate) async fn a_look_sees_what_was_added_before_it_locks(lab: Lab) {
    let world = World::new(lab).await;
    let (batch, callback, [member]) = closed(&world).await;
    finish(&world, member).await;
    let holder = world.hold_before("end_batch", "select * into v_batch").await;
    let waiter = holder.waiter(look()).await;
    let [added] = ids(&world.call(insert(batch)).await);
    holder.end(End::Commit).await;
    assert_eq!(waiter.answer().await.as_deref(), Ok("1 0 0"));
    world.expect(callback, WAITS).await;
    finish(&world, added).await;
    world.lab.check_invariants().await;
}
