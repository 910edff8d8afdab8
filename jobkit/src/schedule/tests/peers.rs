//! Cron texts as other programs read them, beside ours.

use super::*;

/// What each of them made of each text, once.
const TABLE: &str = include_str!("peers.tsv");

/// The rows: the text, ours, and what the five others said.
fn rows() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        let (text, ours) = (cells.next().expect("a text"), cells.next().expect("ours"));
        (text, ours, cells.collect())
    };
    lines.map(row).collect()
}

/// The first three instants after a time, or `-` where the text is refused.
fn ours(text: &str) -> String {
    let Ok(times) = text.parse::<Times>() else { return "-".to_owned() };
    let next = |at: &DateTime<Utc>| times.next_after(*at);
    let instants = std::iter::successors(next(&at("2026-11-25T12:34:56Z")), next).take(3);
    instants.map(|at| at.format("%Y-%m-%dT%H:%M").to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn cron_texts_mean_what_the_table_says() {
    for (text, expected, _) in rows() {
        assert_eq!(ours(text), expected, "{text}");
    }
}

/// What is accepted means the same to all who count weekdays from Sunday and accept it.
#[test]
fn what_is_accepted_means_the_same_elsewhere() {
    let mut compared = 0;
    for (text, ours, others) in rows() {
        let [croniter, _apscheduler, cronsim, parser, croner] = others[..] else {
            panic!("{text}: {others:?}")
        };
        for other in [croniter, cronsim, parser, croner] {
            let excepted = other == croniter && text == "5-5 * * * *";
            compared += u32::from(other == "=");
            assert!(ours == "-" || excepted || matches!(other, "=" | "-"), "{text}: {other}");
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Where others differ among themselves, we refuse.
#[test]
fn what_others_read_differently_is_refused() {
    for (text, ours, others) in rows() {
        let mut said: Vec<&str> = [0, 2, 3, 4].map(|other| others[other]).to_vec();
        said.retain(|said| *said != "-");
        said.dedup();
        assert!(said.len() < 2 || ours == "-" || text == "5-5 * * * *", "{text}: {said:?}");
    }
}
