-- From now on this session plans by indexes alone, in whose order rows are wanted, whatever the
-- statistics say: a page must not cost a sort of everything there is.
select set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
    set_config('enable_sort', 'off', false), set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false)
