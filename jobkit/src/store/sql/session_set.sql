-- The settings that our statements rely on, whatever the defaults of the role and the database: set
-- for a worker's session, or for an operator's transaction. Names are qualified, since the
-- search_path is arbitrary until this has run. Returns whether this server is read-only (a standby,
-- after a fail-over).
-- $1 whether for this transaction only, $2 statement timeout, $3 lock timeout, $4 how long a
-- transaction may wait for its client; whether the planner may choose $5 sequential scans, $6
-- bitmap scans, and $7 sorts, hash and merge joins; $8 the `plan_cache_mode`
select pg_catalog.pg_is_in_recovery() as reads_only,
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', $1),
    pg_catalog.set_config('statement_timeout', $2, $1),
    pg_catalog.set_config('lock_timeout', $3, $1),
    pg_catalog.set_config('idle_in_transaction_session_timeout', $4, $1),
    -- Of PostgreSQL 17 and later.
    case when pg_catalog.current_setting('transaction_timeout', true) is not null then
        pg_catalog.set_config('transaction_timeout', '0', $1) end,
    case when not $1 then pg_catalog.set_config('idle_session_timeout', '0', false) end,
    case when not $1 then
        pg_catalog.set_config('default_transaction_isolation', 'read committed', false) end,
    case when not $1 then pg_catalog.set_config('default_transaction_read_only', 'off', false) end,
    -- Only a superuser may set this, or needs to.
    case when pg_catalog.current_setting('session_replication_role')
            operator(pg_catalog.<>) 'origin' then
        pg_catalog.set_config('session_replication_role', 'origin', $1) end,
    -- So that a statement waiting for a lock ends with its client; only Linux always supports it.
    case when pg_catalog.strpos(pg_catalog.version(), 'linux') operator(pg_catalog.>) 0 then
        pg_catalog.set_config('client_connection_check_interval', '1s', $1) end,
    pg_catalog.set_config('standard_conforming_strings', 'on', $1),
    pg_catalog.set_config('timezone', 'UTC', $1),
    -- None of our statements runs long enough for JIT compilation to pay off.
    pg_catalog.set_config('jit', 'off', $1),
    pg_catalog.set_config('enable_seqscan', $5, $1),
    pg_catalog.set_config('enable_bitmapscan', $6, $1),
    pg_catalog.set_config('enable_sort', $7, $1),
    pg_catalog.set_config('enable_hashjoin', $7, $1),
    pg_catalog.set_config('enable_mergejoin', $7, $1),
    -- A generic plan for any filter would use no filter's index. The second setting tells `claim`
    -- and `settle` that they need not make the settings themselves (`plan_once`).
    pg_catalog.set_config('plan_cache_mode', $8, $1),
    pg_catalog.set_config('jobkit.plans', $8, $1)
