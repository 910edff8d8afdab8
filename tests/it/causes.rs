//! Failures of one cause are one group, whatever stands behind their message.

use std::time::Duration;

use jobkit_tests::Lab;

in_a_lab![
    three_causes_with_long_backtraces_are_three_groups,
    the_causes_of_an_error_count_and_its_backtrace_does_not,
    a_hostile_error_costs_little,
];

/// Errors as `anyhow` and `eyre` write them for debugging: of three causes, whose messages differ
/// in length from case to case, so that any cut falls elsewhere in the backtrace.
const ERRORS: &str = "select i, (array[
        format('charging \"%s\" failed%s', repeat('x', 90 * i), E'\n\nCaused by:\n    declined'),
        format('no answer from 10.0.0.%s:443 after %s ms', i, 7 * i),
        format('%s of %s bytes left on the disk', repeat('9', 30 * i), i)
    ])[1 + i % 3] || E'\n\n' || (array['Stack backtrace:', 'stack backtrace:',
        'Location:\n    src/mail.rs:1' || i || E':5\n\n  ━━━━━━━━ BACKTRACE ━━━━━━━━'])[1 + i % 3]
        || E'\n' || (
        select string_agg(format(E'  %s: app::frame_%s::call\n             at ./src/f%s.rs:%s:5',
            n, repeat(chr(97 + (n % 26)), 1 + n % 7), n, n * i), E'\n')
        from generate_series(i, 60) n
    ) as error from generate_series(1, 7) i";

async fn three_causes_with_long_backtraces_are_three_groups(lab: Lab) {
    let kinds = "array_agg(distinct jobkit.fingerprint('mail', '', null, error))";
    let groups: Vec<String> = lab.value(&format!("select {kinds} from ({ERRORS}) e")).await;
    assert_eq!(groups.len(), 3, "{groups:?}");
    // Nothing of the frames is left.
    let left = format!("select bool_or(jobkit.fold(error) ~ 'frame|src/f') from ({ERRORS}) e");
    assert!(!lab.value::<bool>(&left).await);
}

async fn the_causes_of_an_error_count_and_its_backtrace_does_not(lab: Lab) {
    for (one, other, same) in [
        ("a", "b", false),
        ("a\n\nCaused by:\n    b", "a\n\nCaused by:\n    c", false),
        ("a\n\nStack backtrace:\n   0: b", "a\n\nStack backtrace:\n   0: c", true),
        ("a\nstack backtrace:\n   0: b", "a", true),
        ("a: no backtrace: b", "a: no backtrace: c", false),
        ("7 of 8 rows", "9 of 10 rows", true),
    ] {
        let folds = "select jobkit.fold($1) = jobkit.fold($2)";
        let query = sqlx::query_scalar::<_, bool>(folds).bind(one).bind(other);
        assert_eq!(query.fetch_one(lab.pool()).await.unwrap(), same, "{one:?} {other:?}");
    }
}

async fn a_hostile_error_costs_little(lab: Lab) {
    for hostile in ["“", "«", "[", "0", "a@", "(\"", "\n", "\n ", "a://", "ab1", "1.1.1.", "━"]
    {
        let times = 65_536 / hostile.len();
        let error = hostile.repeat(times);
        let began = std::time::Instant::now();
        let fold = sqlx::query_scalar::<_, String>("select jobkit.fold($1)").bind(error);
        let folded = fold.fetch_one(lab.pool()).await.unwrap();
        assert!(folded.chars().count() <= 1000);
        assert!(began.elapsed() < Duration::from_secs(10), "{hostile:?}: {:?}", began.elapsed());
    }
}
