-- shown_audit: the details of what operators did, as this role may see them: some have a payload.
create or replace view jobkit.shown_audit as
    select a.id, case when jobkit.shows_payloads() or not a.detail ? 'args' then a.detail
        else jsonb_set(a.detail, '{args}', '"•••"') end as detail
    from jobkit.audit a;
