-- require_rate: refuses an invalid rate. Null: none is given; '0': there is to be none. Returns it
-- without days, which would not divide.
create or replace function jobkit.require_rate(p_rate interval, p_burst integer) returns interval
language plpgsql as $$
begin
    perform jobkit.refuse(case
        when p_rate <> '0' and p_rate not between '100 us' and '30 d' then
            'the time between two slots of a rate is 100 us to 30 days, not ' || p_rate
        when p_rate is not null and (p_burst between 1 and 1000000) is not true then
            'a burst is 1 to 1000000, not ' || coalesce(p_burst::text, 'null')
        end);
    return make_interval(secs => extract(epoch from p_rate)::double precision);
end
$$;
