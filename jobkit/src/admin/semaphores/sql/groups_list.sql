-- The concurrency groups some worker has announced, in the order of their names.
select g.name, g.default_limit, g.override_limit from jobkit.concurrency_groups g order by g.name
