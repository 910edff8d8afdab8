//! The project's own PostgreSQL from the shell.

use std::process::ExitCode;

use anyhow::Result;
use private_postgres::{Purpose, programs, stop, url};

const USAGE: &str = "\
usage: private-postgres url|start|hold|stop [demo|test]
       private-postgres programs
  url       start the project's server if need be and print its URL
  start     the same without printing
  hold      the same, and count as a process that uses it until this one is killed
  stop      stop it, unless another process uses it
  programs  print the folder of the server programs
Without demo or test: url, start and hold mean demo, stop means both.";

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let purposes = match arguments.next().as_deref() {
        None if verb == "stop" => vec![Purpose::Demo, Purpose::Test],
        None | Some("demo") => vec![Purpose::Demo],
        Some("test") => vec![Purpose::Test],
        Some(_) => Vec::new(),
    };
    if purposes.is_empty() || !["url", "start", "hold", "stop", "programs"].contains(&verb.as_str())
    {
        eprintln!("{USAGE}");
        return Ok(ExitCode::from(2));
    }
    for purpose in purposes {
        match verb.as_str() {
            "url" => println!("{}", url(purpose)?),
            "start" => drop(url(purpose)?),
            "hold" => {
                url(purpose)?;
                loop {
                    std::thread::park();
                }
            }
            "programs" => println!("{}", programs()?.display()),
            _ if stop(purpose)? => {}
            _ => eprintln!("another process uses the {purpose:?} server: left running"),
        }
    }
    Ok(ExitCode::SUCCESS)
}
