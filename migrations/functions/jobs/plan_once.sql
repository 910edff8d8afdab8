-- plan_once: until the end of the transaction, one plan by indexes serves every call, whatever the
-- statistics said when it was made. The cost added to other plans must not make the server compile
-- this one (JIT). A worker's own session has these settings permanently (`jobkit.plans`). Attached
-- to `claim` and `settle` they would be set and reset in each call: a sixth of what a single job
-- costs the server.
create or replace function jobkit.plan_once() returns void
language plpgsql as $$
begin
    perform set_config('jobkit.plans', 'force_generic_plan', true),
        set_config('plan_cache_mode', 'force_generic_plan', true),
        set_config('enable_seqscan', 'off', true),
        set_config('enable_bitmapscan', 'off', true),
        set_config('jit', 'off', true);
end
$$;
