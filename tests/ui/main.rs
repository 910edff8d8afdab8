//! How the mistakes that `#[job]` refuses read.
//!
//! One mistake per file, the file named after it. After a change of the messages, look at the new
//! ones with `TRYBUILD=overwrite cargo test -p jobkit-ui-tests` and `git diff`.

use std::process::Command;

/// The compiler whose messages are on file: others word and order theirs differently.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_read_as_advice() {
    let compiler = compiler();
    if compiler.starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("fail/*.rs");
    } else {
        println!("the messages on file are those of {COMPILER}*; this is {compiler}");
    }
}

fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer = Command::new(rustc).arg("--version").output().expect("cargo found a compiler");
    String::from_utf8_lossy(&answer.stdout).trim().to_owned()
}
