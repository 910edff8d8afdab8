//! The command line of jobkit: `jobkit --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    jobkit_admin::cli::main()
}
