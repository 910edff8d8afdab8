-- A session that works has whole-table scans priced out, so that one plan of each statement serves
-- it for good. For a table without an index that fits, that price stands in every plan, where it
-- hides the price of walking through a table that grows: a grant planned while nobody was blocked
-- went through all blocked jobs of all keys. So even small tables have an index that fits.
create index workers_serving on jobkit.workers (id) where not stopping;
create index brakes_paused on jobkit.brakes (name) where paused_at is not null;
create index brakes_limiting on jobkit.brakes (name)
    where num_nonnulls(running_limit, rate_count) > 0;
