//! The code blocks of the pages, as tests of documentation: `cargo test -p jobkit-tests --doc`.

/// A module of a page for each.
macro_rules! pages {
    ($($name:ident: $path:literal;)*) => {
        $(#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), $path))]
        mod $name {})*
    };
}

pages! {
    readme: "/../README.md";
    batches: "/../docs/batches.md";
    changing_jobs: "/../docs/changing-jobs.md";
    concurrency: "/../docs/concurrency.md";
    dead_letters: "/../docs/dead-letters.md";
    schedules: "/../docs/schedules.md";
    deploying: "/../docs/deploying.md";
    getting_started: "/../docs/getting-started.md";
    encryption: "/../docs/encryption.md";
    handlers: "/../docs/handlers.md";
    limits: "/../docs/limits.md";
    operating: "/../docs/operating.md";
    testing: "/../docs/testing.md";
    steps: "/../docs/steps.md";
    topics: "/../docs/topics.md";
    unique_jobs: "/../docs/unique-jobs.md";
}
