-- What our statements rely on, whatever the defaults of the role and the database are: set for the
-- session of a worker, or for the transaction of an operator. Every name is written out: until this
-- has run the search_path is anything. Returns whether this server only reads (a standby, after
-- fail-over).
-- $1 whether for this transaction only, $2 statement timeout, $3 lock timeout, $4 for how long a
-- transaction may wait for its client, $5 whether a table may be read as a whole although it has an
-- index, $6 whether that may be read out of order, and $7 whether rows may be sorted, when the
-- statistics speak for it; $8 the `plan_cache_mode`
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
    -- Only a superuser may say so, or has a need to.
    case when pg_catalog.current_setting('session_replication_role')
            operator(pg_catalog.<>) 'origin' then
        pg_catalog.set_config('session_replication_role', 'origin', $1) end,
    -- So that a statement which waits for a lock ends with its client; only Linux always can.
    case when pg_catalog.strpos(pg_catalog.version(), 'linux') operator(pg_catalog.>) 0 then
        pg_catalog.set_config('client_connection_check_interval', '1s', $1) end,
    pg_catalog.set_config('standard_conforming_strings', 'on', $1),
    pg_catalog.set_config('timezone', 'UTC', $1),
    -- None of our statements runs for so long that compiling it pays.
    pg_catalog.set_config('jit', 'off', $1),
    pg_catalog.set_config('enable_seqscan', $5, $1),
    pg_catalog.set_config('enable_bitmapscan', $6, $1),
    pg_catalog.set_config('enable_sort', $7, $1),
    pg_catalog.set_config('enable_hashjoin', $7, $1),
    pg_catalog.set_config('enable_mergejoin', $7, $1),
    -- A plan for any filter would follow no filter's index. By the second `claim` and `settle` know
    -- that they need not make the settings themselves (`plan_once`).
    pg_catalog.set_config('plan_cache_mode', $8, $1),
    pg_catalog.set_config('jobkit.plans', $8, $1)
