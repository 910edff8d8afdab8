-- take_dead_letters: replays or removes (p_verb) those dead letters that are in one of these states
-- and have not failed after p_until. Skips those that another session has locked, that are being
-- replayed, or whose unique key is taken. Returns the others, the oldest failure first.
create or replace function jobkit.take_dead_letters(
    p_verb text, p_ids bigint[], p_states text[], p_until timestamptz
) returns bigint[]
language plpgsql as $$
declare
    v_taken bigint[] := array(
        select d.id from jobkit.dead_letters d
        where d.id = any (p_ids) and d.state = any (p_states) and d.failed_at <= p_until
            and d.state <> 'replaying'
        order by d.failed_at, d.id for update skip locked
    );
begin
    if p_verb <> 'replay' then
        delete from jobkit.dead_letters d where d.id = any (v_taken);
        perform jobkit.release_held(v_taken, 'discard');
    else
        v_taken := jobkit.without_clash(v_taken);
        if v_taken <> '{}' then
            perform from jobkit.replay_open(v_taken);
        end if;
    end if;
    return v_taken;
end
$$;
