-- turn_limits: the turns, with the limit and the rate that apply to each.
create or replace view jobkit.turn_limits as
    select t.scope, t.name, t.tat, coalesce(l.running, l.code_running) as running,
        nullif(coalesce(l.every, l.code_every), '0') as every,
        coalesce(l.burst, l.code_burst) as burst
    from jobkit.turns t join jobkit.limits l on l.scope = t.scope and l.name = t.name;
