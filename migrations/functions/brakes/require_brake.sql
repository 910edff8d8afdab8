-- require_brake: checks that the isolation level is READ COMMITTED, and that the scope is a queue
-- or a kind.
create or replace function jobkit.require_brake(p_scope text, p_name text) returns void
language plpgsql as $$
begin
    perform jobkit.require_read_committed();
    if p_scope not in ('queue', 'kind') or p_name = '' then
        raise exception 'jobkit: a limit or a rate needs the scope "queue" or "kind", and a name'
            using errcode = '22023';
    end if;
end
$$;
