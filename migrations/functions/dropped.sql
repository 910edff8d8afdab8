-- Functions of earlier sets that no binary calls, or that have other parameters or another result
-- now. Where the new form serves the calls of the old one, the old one has to go: the two together
-- would leave the server to choose.
drop function if exists
    jobkit.operation_begin(
        text, jsonb, text, timestamptz, bigint, boolean, timestamptz, text, text),
    jobkit.discard_page(
        text, text, text, text, text, timestamptz, timestamptz, bigint, integer, text, text),
    jobkit.replay_page(
        text, text, text, text, timestamptz, timestamptz, bigint, integer, text, text);
-- What has another name now, other parameters, or its work done elsewhere. No binary calls these,
-- only other functions, which go with them: a call under way fails at most once, and is repeated.
drop function if exists
    jobkit.claim_above(
        text[], text[], integer[], text[], bigint[], integer[], integer[]),
    jobkit.claim_apart(
        bigint, bigint, bigint[], boolean, text[], integer[], integer[], text[]),
    jobkit.claim_within(bigint[], text[], bigint),
    jobkit.claim_within(bigint, bigint, boolean, bigint[], text[], bigint),
    jobkit.coalesce_picked(bigint[], boolean, text[]),
    jobkit.crash(jobkit.jobs, bigint, text),
    jobkit.dead_letter_discard(bigint, text),
    jobkit.dead_letter_purge(interval, text, text, text, text, text, integer, text),
    jobkit.dead_letter_replay(bigint, text, timestamptz, jsonb, integer, text),
    jobkit.dead_letter_replay_all(text, text, text, text, timestamptz, integer, text),
    jobkit.dead_letters_after(text, text, text, timestamptz, bigint, timestamptz, integer),
    jobkit.dead_letters_page(
        text, text, text, text, text, timestamptz, timestamptz, bigint, integer),
    jobkit.enqueue_as_owner(
        text[], text[], smallint[], smallint[], interval[], timestamptz[], text[], text[], text[],
        jsonb[], jsonb[], text[], smallint[], text[], text[], text[], interval[], text[]),
    jobkit.enqueue_by_key(
        boolean, text[], text[], smallint[], smallint[], interval[], timestamptz[], text[], text[],
        text[], jsonb[], jsonb[], text[], smallint[], text[], text[], text[], interval[], text[]),
    jobkit.fill(text[], text[], integer[]),
    jobkit.follow(text[], text[], bigint[], bigint[]),
    jobkit.fill_and_wake(text[], text[], integer[]),
    jobkit.free_keys(bigint[], boolean),
    jobkit.gate(),
    jobkit.has_args(text, jsonb, text[], text[], boolean),
    jobkit.ids_meant(jobkit.operations, integer),
    jobkit.jobs_meant(jsonb, bigint, bigint, integer),
    jobkit.jobs_to_do(jobkit.operations, integer),
    jobkit.make_ready(jobkit.jobs),
    jobkit.operate_selected(jobkit.operations, integer),
    jobkit.park(bigint[], text[], text[]),
    jobkit.pull(bigint[]),
    jobkit.relay(bigint, bigint, bigint, text[], integer[]),
    jobkit.reopen(jobkit.jobs),
    jobkit.resolve(jobkit.jobs),
    jobkit.take(bigint[]),
    jobkit.take_follower(text, text, bigint, bigint, text),
    jobkit.take_last(text, text, bigint, text, boolean, text, bigint, text),
    jobkit.take_waiting(bigint),
    jobkit.wait(bigint[], text[], text[]);
-- Their new forms have more parameters, with defaults.
drop function if exists
    jobkit.announce(
        text[], text[], smallint[], smallint[], interval[], text[], integer[], interval[],
        integer[], text[]),
    jobkit.announce(
        text[], text[], smallint[], smallint[], interval[], text[], integer[], interval[],
        integer[], text[], boolean[]),
    jobkit.claim(bigint, bigint, text[], text[], integer[], bigint[], integer[], integer[]),
    jobkit.enqueue(
        text, jsonb, text, timestamptz, integer, integer, text, text[], jsonb, text),
    jobkit.enqueue_all(
        text[], text[], smallint[], smallint[], interval[], timestamptz[], text[], text[], text[],
        jsonb[], jsonb[], text[]),
    jobkit.enqueue(
        text, jsonb, text, timestamptz, integer, integer, text, text[], jsonb, text, integer),
    jobkit.fire(
        text[], timestamptz[], timestamptz[], text[], timestamptz[], text[], timestamptz[]),
    jobkit.heartbeat(bigint, boolean),
    jobkit.acquire_or_block(bigint[], text[], text[]),
    jobkit.announce_limits(text[], integer[]),
    jobkit.claim_keyed(bigint[], text[], text[]),
    jobkit.enqueue(
        text, jsonb, text, timestamptz, integer, integer, text, text[], jsonb, text, integer, text,
        text, interval, text, text),
    jobkit.claim(
        bigint, bigint, text[], text[], integer[], bigint[], integer[], integer[], integer[]),
    jobkit.claim_braked(
        text[], text[], integer[], integer[], bigint[], integer[], integer[]),
    jobkit.claim_few(
        text[], text[], integer[], bigint[], integer[], integer[], text[], integer[]),
    jobkit.enqueue_all(
        text[], text[], smallint[], smallint[], interval[], timestamptz[], text[], text[], text[],
        jsonb[], jsonb[], text[], smallint[], bigint[], text[], text[], text[]),
    jobkit.enqueue_all(
        text[], text[], smallint[], smallint[], interval[], timestamptz[], text[], text[], text[],
        jsonb[], jsonb[], text[], smallint[], bigint[], text[], text[], text[], boolean),
    jobkit.require_options(text, integer, integer, text[]),
    jobkit.register(bigint, text, text[], text[], interval, integer[]),
    jobkit.sleep(bigint, text[], interval);
drop function if exists
    jobkit.finish(
        jobkit.jobs, text, integer, text, interval, bigint, interval),
    jobkit.finish_all(bigint, bigint[], bigint[], interval[], interval[]),
    jobkit.settle(
        bigint, bigint[], bigint[], text[], text[], text[], interval[], interval[], interval[],
        text[], bigint, text[], integer[]),
    jobkit.settle_one(
        jobkit.jobs, bigint, text, text, text, text, interval, interval, interval),
    jobkit.settle_others(
        bigint, bigint[], bigint[], text[], text[], text[], text[], interval[], interval[],
        interval[]);
-- Their results have other columns.
drop function if exists
    jobkit.claim_ahead(bigint, bigint, bigint[], text[], integer[], integer[]),
    jobkit.claim_apart(
        bigint, bigint, bigint[], boolean, text[], integer[], integer[], text[], text[],
        jobkit.claimed[]),
    jobkit.dead_letters_between(text, text, text, timestamptz, bigint, timestamptz, bigint),
    jobkit.ended_in(text, bigint, integer, bigint),
    jobkit.key_holder(text, text);
drop function if exists
    jobkit.announce(
        text[], text[], smallint[], smallint[], interval[], text[], integer[], interval[],
        integer[], text[], boolean[], interval[], interval[], interval[]);
-- They say more now, of schedules and of who declares them.
drop function if exists
    jobkit.declare_schedules(jsonb, text[]),
    jobkit.edit_schedule(text, jsonb, text, text),
    jobkit.miss_due(text),
    jobkit.register(
        bigint, text, text[], text[], interval, integer[], integer[], integer[]);
drop function if exists
    jobkit.announce(
        text[], text[], smallint[], smallint[], interval[], text[], integer[], interval[],
        integer[], text[], boolean[], interval[], interval[], interval[], text[]);
