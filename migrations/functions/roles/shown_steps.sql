-- shown_steps: the steps and checkpoints of jobs, without the data that only the job itself reads.
create or replace view jobkit.shown_steps as
    select s.job_id, s.name, s.attempt, octet_length(s.value::text) as bytes, s.saved_at
    from jobkit.steps s;
