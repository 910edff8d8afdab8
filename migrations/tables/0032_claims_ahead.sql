-- Jobs claimed ahead: they wait in their worker for a slot, and it is not known here which of them
-- have begun.
-- No claim or settle is between two tables then.
lock table jobkit.queues in exclusive mode;
alter table jobkit.claims add column ahead boolean not null default false;
alter type jobkit.claimed add attribute ahead bigint[];
