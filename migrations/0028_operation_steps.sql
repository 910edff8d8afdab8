-- The work of an operation: a page at a time, with the place of the next in the same transaction.
-- The lock of the operation's row comes before all others; nobody waits for it but who stops it.
-- No page is noted in the audit: the beginning was.

-- operate_count: counts what is meant, if the look before the beginning did not see all of it. A
-- window in each step; behind the last one the work begins at the beginning.
create function jobkit.operate_count(p_operation jobkit.operations) returns void
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_window record;
    v_counted bigint := p_operation.counted;
begin
    if p_operation.verb in ('cancel', 'discard', 'reschedule') then
        select m.jobs as ids, p_operation.after_at as last_at, m.last as last_id into v_window
        from jobkit.jobs_meant(v_filter, p_operation.after_id, p_operation.up_to, 2000) m;
    else
        select * into v_window from jobkit.dead_letters_page(v_filter ->> 'state',
            v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, 10000);
    end if;
    v_counted := v_counted + cardinality(v_window.ids);
    if v_window.last_id is null then
        update jobkit.operations o set state = 'running', counted = v_counted, total = v_counted,
            after_at = b.at, after_id = b.id
        from jobkit.place_before(v_filter) b where o.id = p_operation.id;
    else
        update jobkit.operations o set counted = v_counted, after_at = v_window.last_at,
            after_id = v_window.last_id
        where o.id = p_operation.id;
    end if;
end
$$;

-- operate_jobs: a page of jobs, in two steps, each a transaction of its own. The first notes which
-- they are, and marks those that are to be cancelled: nothing but an end awaits them from its
-- commit on. The second takes them from where they wait; what a claim has in hand just now is
-- tried again, three times in all; but not where p_rows has it done in parts.
create function jobkit.operate_jobs(p_operation jobkit.operations, p_rows integer)
returns boolean
language plpgsql as $$
declare
    v_page record;
    v_batch constant bigint[] := p_operation.batch[1 : p_rows];
    v_rest constant bigint[] := p_operation.batch[p_rows + 1 :];
    v_left bigint[];
    v_again bigint[];
    v_asked integer := 0;
    v_ended constant boolean := p_operation.verb <> 'reschedule';
begin
    if p_operation.batch = '{}' then
        select * into v_page from jobkit.jobs_to_do(p_operation, p_rows);
        if v_ended and v_page.jobs <> '{}' then
            v_page.jobs := array(select jobkit.cancel_mark(v_page.jobs, null));
        end if;
        update jobkit.operations o set batch = v_page.jobs, tries = 0,
            after_id = coalesce(v_page.last, o.up_to)
        where o.id = p_operation.id;
        return v_page.jobs = '{}' and v_page.last is null;
    end if;
    if v_ended then
        v_left := array(select jobkit.cancel_take(v_batch, p_operation.verb,
            coalesce(p_operation.reason, case when p_operation.verb = 'discard' then 'discarded'
                else 'cancelled' end)));
    else
        v_left := array(select jobkit.reschedule(v_batch, p_operation.run_at, p_action => null));
    end if;
    v_left := array(select unnest(v_batch) except select unnest(v_left) order by 1);
    v_again := case when p_operation.tries < 2 and v_rest = '{}' then array(
        select l.id from jobkit.listed_jobs l
        where l.id = any (v_left) and l.state <> 'running' and (v_ended or not l.cancel_requested)
    ) else '{}' end;
    v_left := array(select unnest(v_left) except select unnest(v_again) order by 1);
    if v_ended then
        -- They run, and are marked: to be asked to stop is what was wanted of them.
        v_asked := cardinality(v_left);
        v_left := '{}';
    end if;
    perform jobkit.operation_took(p_operation.id,
        cardinality(v_batch) - cardinality(v_left) - cardinality(v_again), v_left,
        array(
            select case when l.id is null then 'ended by itself'
                when l.cancel_requested then 'marked as cancelled' else l.state end
            from unnest(v_left) as u (id) left join jobkit.listed_jobs l on l.id = u.id
            order by u.id
        ));
    update jobkit.operations o set batch = v_rest || v_again, asked = o.asked + v_asked,
        tries = o.tries + (v_rest = '{}')::integer
    where o.id = p_operation.id;
    return false;
end
$$;

-- operate_dead_letters: a page of dead letters. Left out are those that others have in hand.
create function jobkit.operate_dead_letters(p_operation jobkit.operations, p_rows integer)
returns boolean
language plpgsql as $$
declare
    v_filter constant jsonb := p_operation.filter;
    v_state constant text := p_operation.filter ->> 'state';
    v_done record;
    v_left bigint[];
begin
    if p_operation.verb = 'replay' and v_state <> 'open' then
        return true;
    elsif p_operation.verb = 'replay' then
        select r.replayed as n, r.skipped, r.last_at, r.last_id, r.ids into v_done
        from jobkit.replay_page(v_filter ->> 'kind', v_filter ->> 'queue', v_filter ->> 'key',
            v_filter ->> 'fingerprint', p_operation.until, p_operation.after_at,
            p_operation.after_id, p_rows, p_operation.actor, null) r;
    else
        select r.discarded as n, r.skipped, r.last_at, r.last_id, r.ids into v_done
        from jobkit.discard_page(v_state, v_filter ->> 'kind', v_filter ->> 'queue',
            v_filter ->> 'key', v_filter ->> 'fingerprint', p_operation.until,
            p_operation.after_at, p_operation.after_id, p_rows, p_operation.actor, null) r;
    end if;
    v_left := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_done.ids) and d.state = v_state and d.failed_at <= p_operation.until
        order by d.id
    );
    perform jobkit.operation_took(p_operation.id, v_done.n, v_left,
        array_fill('in other hands'::text, array[cardinality(v_left)]));
    update jobkit.operations o set after_at = coalesce(v_done.last_at, o.after_at),
        after_id = coalesce(v_done.last_id, o.after_id)
    where o.id = p_operation.id;
    return v_done.last_at is null;
end
$$;

-- operate_selected: a page of the dead letters that were selected one by one. Left out are those
-- that others have in hand, and those that are not what they have to be: open for a replay, not
-- replaying for a discard; or that failed again since.
create function jobkit.operate_selected(p_operation jobkit.operations, p_rows integer)
returns boolean
language plpgsql as $$
declare
    v_page record;
    v_done bigint[];
    v_left bigint[];
    v_replay constant boolean := p_operation.verb = 'replay';
begin
    select * into v_page from jobkit.ids_meant(p_operation, p_rows);
    if v_page.last is null then
        return true;
    end if;
    v_done := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (v_page.ids) and d.failed_at <= p_operation.until
            and (d.state = 'open' or d.state = 'resolved' and not v_replay)
        order by d.failed_at, d.id for update skip locked
    );
    if v_done <> '{}' and v_replay then
        perform from jobkit.replay_open(v_done);
    else
        delete from jobkit.dead_letters d where d.id = any (v_done);
    end if;
    v_left := array(select unnest(v_page.ids) except select unnest(v_done) order by 1);
    perform jobkit.operation_took(p_operation.id, cardinality(v_done), v_left, array(
        select case when d.id is null then 'there is none'
            when d.state = 'replaying' or d.state = 'resolved' and v_replay then d.state
            when d.failed_at > p_operation.until then 'failed again' else 'in other hands' end
        from unnest(v_left) as u (id) left join jobkit.dead_letters d on d.id = u.id order by u.id
    ));
    update jobkit.operations o set after_id = v_page.last where o.id = p_operation.id;
    return false;
end
$$;

-- operate: one step of an operation, unless somebody else is at it, it rests, or it has ended.
-- outcome: `step`, `done`, or null when nothing was done here. A step of one row that fails leaves
-- it out. One with a pace rests after each step for as long as what was done may take.
create function jobkit.operate(p_id bigint, p_rows integer, out outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_operation jobkit.operations;
    v_rows integer;
    v_last boolean;
begin
    perform jobkit.require_read_committed();
    select * into v_operation from jobkit.operations o
    where o.id = p_id and o.ended_at is null for update skip locked;
    if not found or v_operation.next_at > clock_timestamp() then
        return;
    end if;
    v_rows := least(p_rows, 1000, v_operation.per_second);
    update jobkit.operations o set stepped_at = clock_timestamp(),
        started_at = coalesce(o.started_at, clock_timestamp()),
        state = case when o.total is null then 'counting' else 'running' end
    where o.id = p_id;
    if v_operation.total is null then
        perform jobkit.operate_count(v_operation);
        outcome := 'step';
        return;
    end if;
    begin
        v_last := case when v_operation.verb in ('cancel', 'discard', 'reschedule')
            then jobkit.operate_jobs(v_operation, v_rows)
            when v_operation.filter ? 'ids'
            then jobkit.operate_selected(v_operation, v_rows)
            else jobkit.operate_dead_letters(v_operation, v_rows) end;
    exception when others then
        if v_rows > 1 or sqlstate similar to '(40|55P03)%'
            or not jobkit.operate_past(v_operation, sqlerrm)
        then
            raise;
        end if;
        v_last := false;
    end;
    outcome := case when v_last then 'done' else 'step' end;
    if v_last then
        perform jobkit.operation_end(p_id, 'done', null);
    elsif v_operation.per_second is not null then
        update jobkit.operations o set next_at = clock_timestamp() + interval '1 second'
            * ((o.done - v_operation.done) / v_operation.per_second::float8)
        where o.id = p_id;
    end if;
end
$$;
