-- How many jobs each listing has, counting up to 10,001 in its index.
-- $1 listings
select l.listing, jobkit.jobs_in_listing(l.listing) from unnest($1::text[]) as l (listing)
