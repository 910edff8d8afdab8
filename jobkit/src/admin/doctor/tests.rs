use super::*;

fn holder(what: &str, age: Option<u64>, transactions: u64) -> HorizonHolder {
    HorizonHolder {
        what: what.to_owned(),
        name: "17".to_owned(),
        role: Some("app".to_owned()),
        application: None,
        state: Some("idle in transaction".to_owned()),
        age: age.map(Duration::from_secs),
        transactions,
    }
}

#[test]
fn what_holds_the_horizon_is_judged_by_its_age_or_by_what_began_since() {
    let severity = |age, transactions| horizon(&holder("session", age, transactions)).severity;
    assert_eq!(severity(Some(59), 10), Severity::Note);
    assert_eq!(severity(Some(60), 10), Severity::Warning);
    assert_eq!(severity(Some(3600), 10), Severity::Critical);
    assert_eq!(severity(Some(1), 1_000_000), Severity::Warning);
    assert_eq!((severity(None, 0), severity(None, 2_000_000)), (Severity::Note, Severity::Warning));
    assert!(horizon(&holder("session", None, 0)).advice.contains("pg_terminate_backend(17)"));
    assert!(horizon(&holder("prepared", None, 0)).advice.contains("rollback prepared"));
    assert!(horizon(&holder("slot", None, 0)).advice.contains("pg_drop_replication_slot"));
}

#[test]
fn settings_that_may_lose_a_commit_are_found() {
    let found = |name: &str, value: &str| {
        let settings = [(name.to_owned(), value.to_owned())];
        durability(&settings).pop().map(|finding| finding.severity)
    };
    assert_eq!(found("fsync", "off"), Some(Severity::Critical));
    assert_eq!(found("full_page_writes", "off"), Some(Severity::Critical));
    assert_eq!(found("autovacuum", "off"), Some(Severity::Warning));
    assert_eq!(found("synchronous_commit", "off"), Some(Severity::Warning));
    for name in ["fsync", "full_page_writes", "autovacuum", "synchronous_commit"] {
        assert_eq!(found(name, "on"), None);
    }
    assert_eq!(found("synchronous_commit", "remote_apply"), None);
}

#[test]
fn a_table_is_bloated_when_most_of_many_row_versions_are_dead() {
    let bloated =
        |live, dead| bloat(&TableSize { table: "jobs".to_owned(), live, dead, bytes: 1 }).is_some();
    assert!(bloated(0, 50_000) && bloated(49_999, 50_000));
    assert!(!bloated(0, 49_999) && !bloated(50_000, 50_000));
}

#[test]
fn a_history_that_ends_today_and_sweeps_that_stopped_are_found() {
    let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
    let number = |found, ahead, swept_ago| {
        let (behind, zones) = (None, Vec::new());
        upkeep(&Upkeep { found, ahead, swept_ago, behind, zones }).len()
    };
    assert_eq!(number(0, None, None), 0);
    assert_eq!(number(0, Some(1), hours(1)), 0);
    assert_eq!((number(0, Some(0), None), number(1, None, None)), (1, 1));
    assert_eq!(number(0, Some(5), hours(2)), 1);
}
