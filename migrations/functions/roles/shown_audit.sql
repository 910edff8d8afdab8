-- shown_audit: what operators did, as this role may see it: some details contain a payload.
create or replace view jobkit.shown_audit as
    select a.id, a.at, a.actor, a.action, a.subject, a.subject_id, a.subject_name,
        case when jobkit.shows_payloads() or not a.detail ? 'args' then a.detail
            else jsonb_set(a.detail, '{args}', '"•••"') end as detail
    from jobkit.audit a;
