use jobkit_tests::model::{Waiting, grant};

fn waiting(priority: i16, id: i64) -> Waiting {
    Waiting { priority, id, served: true }
}

/// A few jobs in any order, with equal priorities and unserved ones among them.
fn some_waiting() -> Vec<Waiting> {
    let mut jobs: Vec<Waiting> = (0..fastrand::i64(0..8))
        .map(|id| Waiting { served: fastrand::bool(), ..waiting(fastrand::i16(-1..=1), id) })
        .collect();
    fastrand::shuffle(&mut jobs);
    jobs
}

#[test]
fn priority_comes_before_age() {
    let jobs = [waiting(0, 1), waiting(-1, 3), waiting(-1, 2)];
    assert_eq!(grant(2, 0, &jobs), [2, 3]);
    assert_eq!(grant(9, 0, &jobs), [2, 3, 1]);
}

#[test]
fn a_job_that_nobody_serves_holds_up_no_other() {
    let jobs = [Waiting { served: false, ..waiting(0, 1) }, waiting(0, 2)];
    assert_eq!(grant(1, 0, &jobs), [2]);
}

#[test]
fn a_limit_below_what_is_taken_grants_nothing() {
    assert_eq!(grant(1, 2, &[waiting(0, 1)]), [0; 0]);
    assert_eq!(grant(0, 0, &[waiting(0, 1)]), [0; 0]);
}

#[test]
fn a_grant_is_as_large_as_it_may_be_and_in_order() {
    for _ in 0..1_000 {
        let (limit, taken, jobs) = (fastrand::u32(0..5), fastrand::u32(0..5), some_waiting());
        let granted = grant(limit, taken, &jobs);
        let place = |id: &i64| {
            let job = jobs.iter().find(|job| job.id == *id).unwrap();
            (!job.served, job.priority, job.id)
        };
        let served = jobs.iter().filter(|job| job.served).count();
        assert_eq!(granted.len(), served.min(limit.saturating_sub(taken) as usize), "{jobs:?}");
        assert!(granted.iter().map(place).is_sorted(), "{granted:?} of {jobs:?}");
        let left = jobs.iter().map(|job| job.id).filter(|id| !granted.contains(id));
        let first_left = left.map(|id| place(&id)).min();
        let last = granted.iter().map(place).max();
        assert!(last.is_none_or(|last| !last.0), "{granted:?} of {jobs:?}");
        assert!(last.zip(first_left).is_none_or(|(last, left)| last < left), "{jobs:?}");
    }
}

#[test]
fn two_grants_one_after_the_other_are_one() {
    for _ in 0..1_000 {
        let (limit, jobs) = (fastrand::u32(0..8), some_waiting());
        let first = grant(limit.min(2), 0, &jobs);
        let rest: Vec<_> = jobs.iter().filter(|job| !first.contains(&job.id)).copied().collect();
        let taken = u32::try_from(first.len()).unwrap();
        let then = grant(limit, taken, &rest);
        assert_eq!([first, then].concat(), grant(limit, 0, &jobs), "{limit} for {jobs:?}");
    }
}
