-- new_jobs_at: the job at this place, out of many.
create or replace function jobkit.new_jobs_at(p jobkit.new_jobs, p_at integer)
returns jobkit.new_jobs
language sql stable as $$
    select row(
        p.kind[p_at:p_at], p.queue[p_at:p_at], p.priority[p_at:p_at], p.max_attempts[p_at:p_at],
        p.args[p_at:p_at], p.delay[p_at:p_at], p.run_at[p_at:p_at], p.concurrency_group[p_at:p_at],
        p.concurrency_key[p_at:p_at], p.dead_letter_key[p_at:p_at], p.tags[p_at:p_at],
        p.metadata[p_at:p_at], p.version[p_at:p_at], p.unique_scope[p_at:p_at],
        p.unique_key[p_at:p_at], p.unique_while[p_at:p_at], p.unique_for[p_at:p_at],
        p.on_duplicate[p_at:p_at], p.terms[p_at:p_at]
    )::jobkit.new_jobs
$$;
