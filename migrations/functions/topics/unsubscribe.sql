-- unsubscribe: a kind gets no more jobs of a topic, unless a binary announces it again. Its jobs
-- and dead letters stay. Returns false if it had not subscribed. Publishers wait for nothing here,
-- and read the subscription until this commits.
create or replace function jobkit.unsubscribe(p_topic text, p_kind text, p_actor text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform jobkit.require_read_committed();
    delete from jobkit.subscriptions s where s.topic = p_topic and s.kind = p_kind;
    if not found then
        return false;
    end if;
    perform jobkit.note(p_actor, 'unsubscribe', 'topic', null,
        jsonb_build_object('kind', p_kind), p_topic);
    return true;
end
$$;
