//! What `#[job]` accepts, and how its mistakes read.
//!
//! One mistake per file, the file named after it. After a change of the messages, look at the new
//! ones with `TRYBUILD=overwrite cargo test -p jobkit-tests --test ui` and `git diff`.

#[test]
fn declarations_compile_and_mistakes_read_as_advice() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/fail/*.rs");
}
