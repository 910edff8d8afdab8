-- A job that is told to wait, as by an answer `429 Too Many Requests`, is charged no attempt, but
-- not for ever: the time that it may take begins when it is told so first.
alter table jobkit.jobs add column waits_since timestamptz;
