-- Which paths of a kind's payload are stored encrypted, as the binary that announced it says. What
-- is enqueued by the name of the kind has to come with them sealed (`require_sealed`). A constant
-- default rewrites nothing.
alter table jobkit.kinds add column encrypt text[] not null default '{}';
