-- A time that is stored says nothing once the clock has stepped back behind what it was reckoned
-- from. So a pause of a key says how long it is, and a slot that is kept when that was.
alter table jobkit.semaphores add column paused_for interval;
alter table jobkit.kept_slots add column kept_at timestamptz not null default clock_timestamp();
