-- sweep: adds to the count of what sweeps found and nothing explained.
-- $1 how many
select jobkit.sweep_note($1)
