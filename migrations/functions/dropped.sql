-- Functions of earlier sets that no binary calls, or that have other parameters or another result
-- now. Where the new form serves the calls of the old one, the old one has to go: the two together
-- would leave the server to choose.
drop function if exists jobkit.operation_begin(
    text, jsonb, text, timestamptz, bigint, boolean, timestamptz, text, text
);
-- What has another name now. No binary calls these, only other functions, which go with them: a
-- call under way fails at most once, and is repeated.
drop function if exists jobkit.fill(text[], text[], integer[]);
drop function if exists jobkit.fill_and_wake(text[], text[], integer[]);
drop function if exists jobkit.gate();
drop function if exists jobkit.ids_meant(jobkit.operations, integer);
drop function if exists jobkit.jobs_meant(jsonb, bigint, bigint, integer);
drop function if exists jobkit.park(bigint[], text[], text[]);
drop function if exists jobkit.pull(bigint[]);
drop function if exists jobkit.relay(bigint, bigint, bigint, text[], integer[]);
drop function if exists jobkit.take(bigint[]);
drop function if exists jobkit.wait(bigint[], text[], text[]);
-- The like with other parameters.
drop function if exists jobkit.claim_within(bigint[], text[], bigint);
drop function if exists jobkit.make_ready(jobkit.jobs);
