-- fold: an error message without the parts that differ between occurrences: texts in quotes,
-- addresses, ids, numbers, and the backtrace. It is cut only after these are removed, so that their
-- length does not move the cut. Only a very long message is cut before, too, since an unclosed
-- quote costs a search through all the text behind it.
create or replace function jobkit.fold(p_error text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(btrim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        -- The first line of a backtrace, as the standard library, anyhow or color-eyre (with a
        -- rule) writes it.
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
