//! The races, and the looks at plans, find what they are there to find: each mutant is an installed
//! function with one lock, one check or one filter taken out, and the test named beside it fails.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use jobkit_tests::Lab;

/// How long a race may hang on a mutant, which then counts as found.
const DEADLINE: Duration = Duration::from_secs(20);

/// The name of the threads whose panics are expected.
const THREAD: &str = "mutant";

type Race = fn(Lab) -> Pin<Box<dyn Future<Output = ()>>>;

/// Passages of functions and what replaces them, and the race that notices.
struct Mutant {
    passages: &'static [Passage],
    name: &'static str,
    race: Race,
}

/// A passage that a function has once.
#[derive(Debug)]
struct Passage {
    function: &'static str,
    find: &'static str,
    replace: &'static str,
}

/// `function: "passage" => "replacement" with …, file::race;`
macro_rules! mutants {
    ($($($function:ident: $find:expr => $replace:literal)with+,
        $file:ident::$race:ident;)*) => {
        &[$(Mutant {
            passages: &[$(crate::mutants::Passage {
                function: stringify!($function),
                find: $find,
                replace: $replace,
            }),+],
            name: concat!(stringify!($file), "::", stringify!($race)),
            race: |lab| Box::pin($file::$race(lab)),
        }),*]
    };
}

mod awaited;
mod batches;
mod coalesce;
mod completion;
mod dead_letters;
mod operators;
mod permits;
mod queues;
mod rates;
mod reports;
mod schedules;
mod topics;
mod transitions;
mod turns;
mod unique;

impl Mutant {
    /// Installs the mutant in a lab.
    async fn install(&self, lab: &Lab) {
        for Passage { function, find, replace } in self.passages {
            lab.mutate(function, find, replace).await;
        }
    }

    /// What the race said, or `None` when it passed.
    ///
    /// A thread of its own, by whose name the panic hook knows that the panic is expected.
    fn complaint(&'static self) -> Option<String> {
        let installed = Arc::new(AtomicBool::new(false));
        let install = Arc::clone(&installed);
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let lab = Lab::new().await;
                self.install(&lab).await;
                install.store(true, Ordering::Relaxed);
                let race = AssertUnwindSafe(|| tokio::time::timeout(DEADLINE, (self.race)(lab)));
                race().await.expect("a race ends in time");
            });
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let done = thread.spawn(move || catch_unwind(AssertUnwindSafe(run))).unwrap().join();
        let text = done.unwrap().err().map(|panic| message(&*panic));
        assert!(installed.load(Ordering::Relaxed), "{:?}: {text:?}", self.passages);
        text
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Keeps the expected panics out of the output.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(THREAD) {
                usual(panic);
            }
        }));
    });
}

/// Fails with the mutants that pass for the real thing. `JOBKIT_MUTANTS` names a part of the tests
/// that are tried: all whose name has it.
fn each_is_found(mutants: &'static [Mutant]) {
    silence();
    let mut survivors = Vec::new();
    let part = std::env::var("JOBKIT_MUTANTS").unwrap_or_default();
    for mutant in mutants.iter().filter(|mutant| mutant.name.contains(&part)) {
        let complaint = mutant.complaint();
        let what = format!("{:?}, {}", mutant.passages, mutant.name);
        match complaint {
            // It must be a function that works and does the wrong thing: SQLSTATE 42… is a typing
            // mistake, in the mutant or in the race.
            Some(text) if !text.starts_with("42") && !text.contains("Err(\"42") => {
                println!("{what}\n    {}", text.lines().collect::<Vec<_>>().join(" "));
            }
            complaint => survivors.push(format!("{what}: {complaint:?}")),
        }
    }
    assert!(survivors.is_empty(), "not found:\n{}", survivors.join("\n"));
}

#[test]
fn each_mutant_of_a_wait_is_found_by_its_race() {
    each_is_found(awaited::MUTANTS);
    each_is_found(batches::MUTANTS);
}

#[test]
fn each_mutant_of_a_job_that_coalesces_is_found_by_its_race() {
    each_is_found(coalesce::MUTANTS);
}

#[test]
fn each_mutant_of_a_completion_is_found_by_its_race() {
    each_is_found(completion::MUTANTS);
}

#[test]
fn each_mutant_of_a_dead_letter_is_found_by_its_race() {
    each_is_found(dead_letters::MUTANTS);
}

#[test]
fn each_mutant_of_a_transition_is_found_by_its_race() {
    each_is_found(transitions::MUTANTS);
}

#[test]
fn each_mutant_of_turns_is_found() {
    each_is_found(turns::MUTANTS);
}

#[test]
fn each_mutant_of_a_unique_key_is_found_by_its_race() {
    each_is_found(unique::MUTANTS);
}

#[test]
fn each_mutant_of_a_permit_is_found_by_its_race() {
    each_is_found(permits::MUTANTS);
}

#[test]
fn each_mutant_of_a_bound_or_of_shared_slots_is_found_by_its_race() {
    each_is_found(queues::MUTANTS);
}

#[test]
fn each_mutant_of_a_rate_is_found_by_its_race() {
    each_is_found(rates::MUTANTS);
}

#[test]
fn each_mutant_of_a_checkpoint_or_a_report_is_found_by_its_race() {
    each_is_found(reports::MUTANTS);
}

#[test]
fn each_mutant_of_a_schedule_is_found_by_its_race() {
    each_is_found(schedules::MUTANTS);
}

#[test]
fn each_mutant_of_a_subscription_is_found_by_its_race() {
    each_is_found(topics::MUTANTS);
}

#[test]
fn each_mutant_of_an_operators_help_is_found_by_its_test() {
    each_is_found(operators::MUTANTS);
}
