//! The page on webhooks says what the function does.

use std::time::Duration;

use jobkit_webhooks::{Reaction, reaction};

/// The statuses that a cell names: `410`, `200–299`, or `anything else`.
fn statuses(cell: &str, named: &[u16]) -> Vec<u16> {
    if cell == "anything else" {
        return (100..=999).filter(|status| !named.contains(status)).collect();
    }
    let range = |part: &str| {
        let (from, to) = part.split_once('–').unwrap_or((part, part));
        from.parse().unwrap()..=to.parse::<u16>().unwrap()
    };
    cell.split(", ").flat_map(range).collect()
}

fn begins(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Delivered => "delivered",
        Reaction::Gone => "the endpoint is switched off",
        Reaction::Rest(rest) if rest == Duration::from_secs(60) => {
            "the endpoint rests for a minute"
        }
        Reaction::Rest(_) => "the endpoint rests for so long",
        Reaction::Again => "tried again",
        Reaction::Refused => "a dead letter",
    }
}

#[test]
fn the_table_of_the_page_is_that_of_the_function() {
    let page = include_str!("../../docs/webhooks.md");
    let (_, table) = page.split_once("| status | `Retry-After` | what happens |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let (mut named, mut rows) = (Vec::new(), 0);
    for cells in cells {
        let [status, header, happens] = cells[..] else { panic!("{cells:?}") };
        let statuses = statuses(status, &named);
        assert!(!statuses.is_empty());
        for status in &statuses {
            if header != "with" {
                assert!(
                    happens.starts_with(begins(reaction(*status, None))),
                    "{status}: {happens}"
                );
            }
            if header != "without" {
                let said = begins(reaction(*status, Some(Duration::from_secs(7))));
                assert!(happens.starts_with(said), "{status}: {happens}");
            }
        }
        named.extend(statuses);
        rows += 1;
    }
    assert_eq!(rows, 6);
}
