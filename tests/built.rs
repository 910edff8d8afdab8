use std::path::{Path, PathBuf};

use tokio::process::Command;

/// Builds examples as the tests are built, and says in which folder they are: with the whole
/// workspace and with the options that the tests have, or every dependency would be built once more
/// with fewer features.
///
/// # Panics
///
/// When one does not compile.
pub async fn built(examples: &[&str], options: &[&str]) -> PathBuf {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    // What cargo tells a test of its package is no news for build scripts. That of `ring` looks at
    // it, and all that depends on `ring` would be built anew, here and by whoever builds next.
    for (name, _) in std::env::vars_os() {
        let told = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if name.to_str().is_some_and(|name| told.iter().any(|told| name.starts_with(told))) {
            build.env_remove(name);
        }
    }
    build.args(["build", "--quiet", "--workspace"]).args(options);
    for example in examples {
        build.args(["--example", example]);
    }
    let status = build.status().await.expect("cargo runs");
    assert!(status.success(), "{examples:?} compile");
    let tests = std::env::current_exe().expect("a test is a program");
    tests.ancestors().nth(2).expect("it is in a folder of its profile").join("examples")
}
