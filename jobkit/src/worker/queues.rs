//! Problems with the queues of a worker.

use std::collections::HashSet;

use super::shared::slots::{MOST_QUEUES, Named, Served};
use crate::limits::NAME_BYTES;

const MOST_SLOTS: usize = 10_000;
const MOST_WEIGHT: u32 = 1_000;
const LARGEST_BOUND: u32 = 1_000_000;

pub(super) fn problems(served: &[Served], bounds: &[(String, u32)]) -> Vec<String> {
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
    problems.extend(bound_problems(bounds));
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

fn bound_problems(bounds: &[(String, u32)]) -> Vec<String> {
    let (mut problems, mut seen) = (Vec::new(), HashSet::new());
    for (queue, jobs) in bounds {
        if !seen.insert(queue) {
            problems.push(format!("the backlog of `{queue}` was bounded twice: set one bound"));
        }
        if queue.ends_with('*') {
            problems.push(format!(
                "the backlog of `{queue}` cannot be bounded, since a bound applies to a single \
                 queue: name the queue itself"
            ));
        } else {
            problems.extend(name_problem(queue));
        }
        if *jobs == 0 || *jobs > LARGEST_BOUND {
            problems.push(format!(
                "the backlog of `{queue}` is bounded at {jobs} jobs; 1 to {LARGEST_BOUND} are \
                 allowed"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_bound_is_of_one_queue_and_within_reason() {
        let of = |queue: &str, jobs| bound_problems(&[(queue.to_owned(), jobs)]).join("; ");
        assert_eq!(of("mail", 1), "");
        assert!(of("mail*", 10).contains("name the queue itself"));
        assert!(of("mail", 0).contains("1 to 1000000"));
    }
}
