-- plan_once: from here to the end of the transaction one plan serves every call, by indexes,
-- whatever the statistics said when it was made; the price put on other plans must not make the
-- server compile this one. As settings of `claim` and `settle` these were made and taken back at
-- each call, a sixth of what a lone job costs the server. A worker's own session has them, and says
-- so.
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
