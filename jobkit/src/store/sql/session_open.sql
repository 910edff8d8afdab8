-- Sets up a connection of the engine: its isolation level and its deadlines, whatever the role's or
-- the database's defaults are. Returns whether this server only reads (a standby, after fail-over).
-- $1 application name, $2 statement timeout, $3 lock timeout, $4 whether a table may be read as a
-- whole although it has an index, and $5 whether its rows may be sorted, when the statistics speak
-- for it; $6 whether to write although the role's or the database's default is to read
select set_config('application_name', $1, false),
    set_config('default_transaction_isolation', 'read committed', false),
    case when $6 then set_config('default_transaction_read_only', 'off', false) end,
    set_config('statement_timeout', $2, false),
    set_config('lock_timeout', $3, false),
    set_config('idle_in_transaction_session_timeout', $2, false),
    -- So that a statement which waits for a lock ends with its client; only Linux always can.
    case when version() like '%linux%' then
        set_config('client_connection_check_interval', '1s', false) end,
    set_config('timezone', 'UTC', false),
    -- None of our statements runs for so long that compiling it pays.
    set_config('jit', 'off', false),
    set_config('enable_seqscan', $4::boolean::text, false),
    set_config('enable_bitmapscan', $5::boolean::text, false),
    set_config('enable_sort', $5::boolean::text, false),
    set_config('enable_hashjoin', $5::boolean::text, false),
    set_config('enable_mergejoin', $5::boolean::text, false),
    -- A plan for any filter would follow no filter's index.
    case when not $4 then set_config('plan_cache_mode', 'force_custom_plan', false) end,
    pg_is_in_recovery() as reads_only
