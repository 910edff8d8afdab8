-- shown_checkpoints: the checkpoints of live jobs, without the data that only the job itself reads.
create or replace view jobkit.shown_checkpoints as
    select c.job_id, c.attempt, octet_length(c.value::text) as bytes, c.saved_at
    from jobkit.checkpoints c;
