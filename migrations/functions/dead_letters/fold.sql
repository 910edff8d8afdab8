-- fold: the message of an error with all that differs from case to case taken out: texts in quotes,
-- addresses, ids and numbers, and the backtrace behind it. What is left is cut afterwards, so that
-- the length of what was taken out moves no cut; only of a very long one the rest is not looked at,
-- since what opens a quote that nothing closes costs a look at all that follows.
create or replace function jobkit.fold(p_error text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(btrim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        -- A line that begins a backtrace, in the words of the standard library and of anyhow, or
        -- ruled off as by color-eyre.
        regexp_replace(left(p_error, 8000),
            $re$\n[ \t]*(?:stack backtrace:|[^[:alnum:]\n]*backtrace[^[:alnum:]\n]*(?:\n|$)).*$re$,
            '', 'i'),
        -- A quote inside a word is an apostrophe.
        $re$(^|[^[:alnum:]])(?:"[^"]*"|'[^']*'|`[^`]*`|“[^”]*”|«[^»]*»)(?![[:alnum:]])$re$,
            '\1<text>', 'g'),
        $re$[[:alpha:]][[:alnum:]+.-]*://[^[:space:]<>"')\]]+|[[:alnum:]._%+-]+@[[:alnum:].-]+$re$,
            '<address>', 'g'),
        $re$\y(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\y|\[[[:xdigit:]:.]*:[[:xdigit:]:.]*\](?::\d+)?$re$,
            '<address>', 'g'),
        $re$\y(?:0x[[:xdigit:]]+|[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$re$
            || $re$|(?=[[:alpha:]]*\d)[[:xdigit:]]{8,})\y$re$, '<id>', 'gi'),
        $re$\d+(?:[.,:]\d+)*$re$, '<n>', 'g'), E' \t\n'), 1000)
$$;
