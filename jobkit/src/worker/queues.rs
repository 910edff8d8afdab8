//! Problems with the queues of a worker.

use std::collections::HashSet;

use super::shared::slots::{MOST_QUEUES, Named, Served};
use crate::error::InvalidValue;
use crate::limits::{self, LIMIT, NAME_BYTES};
use crate::policy::QueueLimit;

const MOST_SLOTS: usize = 10_000;
const MOST_WEIGHT: u32 = 1_000;

pub(super) fn problems(served: &[Served], limits: &[(String, QueueLimit)]) -> Vec<String> {
    let mut problems = Vec::new();
    if served.is_empty() {
        problems.push("no queue is served: add `.queue(\"default\", 10)`".to_owned());
    }
    let names: Vec<&Named> = served.iter().flat_map(|pool| &pool.names).collect();
    if names.len() > MOST_QUEUES {
        problems.push(format!(
            "{} queues are served; at most {MOST_QUEUES} are allowed: start more workers",
            names.len()
        ));
    }
    let mut seen = HashSet::new();
    for name in names.into_iter().map(|named| &*named.name) {
        if !seen.insert(name) {
            problems.push(format!("the queue `{name}` was given twice: give each queue once"));
        }
        problems.extend(name_problem(name));
    }
    for pool in served {
        let (title, slots) = (pool.title(), pool.slots);
        if pool.names.is_empty() {
            problems.push(format!(
                "{slots} slots have no queue: name the queues that share them, as in \
                 `.queues_in_order(20, [\"critical\", \"default\"])`"
            ));
        } else if slots == 0 || slots > MOST_SLOTS {
            problems.push(format!(
                "the queue {title} has a concurrency of {slots}; 1 to {MOST_SLOTS} are allowed"
            ));
        }
        for Named { name, weight, .. } in &pool.names {
            if *weight == 0 || *weight > MOST_WEIGHT {
                problems.push(format!(
                    "the queue `{name}` has the weight {weight}; 1 to {MOST_WEIGHT} are allowed"
                ));
            }
        }
    }
    problems.extend(limit_problems(limits));
    problems
}

fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() || name.len() > NAME_BYTES {
        return Some(format!("the queue name `{name}` must have 1 to {NAME_BYTES} bytes"));
    }
    if name.contains('\0') {
        return Some(format!(
            "the queue name {name:?} contains a NUL, which PostgreSQL cannot store"
        ));
    }
    let prefix = name.strip_suffix('*').unwrap_or(name);
    let begin = prefix.split('*').next()?;
    prefix.contains('*').then(|| {
        format!(
            "the queue name `{name}` has a star before its end; a pattern can only end with one: \
             write `{begin}*`, or name the queues"
        )
    })
}

fn limit_problems(limits: &[(String, QueueLimit)]) -> Vec<String> {
    let (mut problems, mut seen) = (Vec::new(), HashSet::new());
    for (queue, limit) in limits {
        if !seen.insert(queue) {
            problems.push(format!("the queue `{queue}` was limited twice: set one limit"));
        }
        if queue.ends_with('*') {
            problems.push(format!(
                "`{queue}` cannot be limited, since a limit applies to a single queue: name the \
                 queue"
            ));
        } else {
            problems.extend(name_problem(queue));
        }
        if let Err(error) = check(limit) {
            problems.push(format!("the limit of the queue `{queue}`: {error}"));
        }
    }
    problems
}

fn check(limit: &QueueLimit) -> Result<(), InvalidValue> {
    let jobs = |what, most: Option<u32>| {
        most.map_or(Ok(()), |most| limits::range(what, most, 1..=LIMIT, "1 to 1000000"))
    };
    jobs("limit of running jobs", limit.running)?;
    jobs("limit of waiting jobs", limit.waiting)?;
    limit.rate.map_or(Ok(()), limits::rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Rate;

    fn of(names: &[&str]) -> String {
        let served: Vec<_> = names.iter().map(|name| Served::one(*name, 1)).collect();
        problems(&served, &[]).join("; ")
    }

    #[test]
    fn a_star_may_end_a_name_and_nothing_else() {
        assert_eq!(of(&["mail", "mail*", "*"]), "");
        assert!(of(&["mail-*-bulk"]).contains("write `mail-*`"));
        assert!(of(&["**"]).contains("write `*`"));
        assert!(of(&["mail*", "mail*"]).contains("given twice"));
        assert!(of(&["ma\0il"]).contains(r#""ma\0il" contains a NUL"#));
    }

    #[test]
    fn a_limit_is_of_one_queue_and_within_reason() {
        let of = |queue: &str, limit| limit_problems(&[(queue.to_owned(), limit)]).join("; ");
        let limit = QueueLimit::new().waiting(1).running(1_000_000).rate(Rate::per_minute(5));
        assert_eq!(of("mail", limit), "");
        assert!(of("mail*", limit).contains("name the queue"));
        assert!(of("", limit).contains("1 to 128 bytes"));
        for wrong in [limit.waiting(0), limit.running(0), limit.running(1_000_001)] {
            assert!(of("mail", wrong).contains("1 to 1000000"));
        }
        assert!(of("mail", limit.rate(Rate::per_second(0).burst(0))).contains("burst"));
        let twice = [("mail".to_owned(), limit), ("mail".to_owned(), limit)];
        assert!(limit_problems(&twice)[0].contains("limited twice"));
    }
}
