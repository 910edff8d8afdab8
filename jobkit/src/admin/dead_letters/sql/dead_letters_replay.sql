-- replay: makes a job of a dead letter, once. Returns what came of it, and which job it is.
-- $1 dead letter, $2 actor; null for as stored: $3 queue, $4 time, $5 payload, $6 attempts, $7 the
-- concurrency group and key that belong to the payload
select r.outcome, r.job_id from jobkit.replay($1, $2, $3, $4, $5, $6, $7) r
