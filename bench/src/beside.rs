//! How long jobs wait for an idle worker with two builds of jobkit, both at work at the same time
//! on one server: whatever else the machine does meets both alike.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::server::Server;

/// Between two jobs of one build; those of the other come in the middle.
const GAP: Duration = Duration::from_millis(20);

/// The program `peer-jobkit` of one build, with a database of its own.
struct Build {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Build {
    async fn start(program: &Path, url: &str, jobs: usize) -> Result<Self> {
        let setup = Command::new(program).arg("setup").env("DATABASE_URL", url).status().await?;
        ensure!(setup.success(), "{} setup failed", program.display());
        let mut command = Command::new(program);
        command.args(["latency", &jobs.to_string(), &GAP.as_millis().to_string()]);
        command.env("DATABASE_URL", url).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let stdin = child.stdin.take().context("stdin is a pipe")?;
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout).lines() })
    }

    /// The next thing it says that begins like this.
    async fn hear(&mut self, mark: &str) -> Result<String> {
        while let Some(line) = self.stdout.next_line().await? {
            if let Some(rest) = line.strip_prefix(mark) {
                return Ok(rest.to_owned());
            }
        }
        anyhow::bail!("it ended before it said {mark}")
    }

    async fn go(&mut self) -> Result<()> {
        Ok(self.stdin.write_all(b"\n").await?)
    }

    /// The median wait of its jobs, in milliseconds.
    async fn end(mut self) -> Result<f64> {
        let end: Value = serde_json::from_str(&self.hear("END ").await?)?;
        self.go().await?;
        self.child.wait().await?;
        end["latency"]["p50"].as_f64().context("it says no median")
    }
}

/// Prints each round's medians, and the median of their ratios, the second build to the first.
pub(crate) async fn compare(
    server: &Server,
    programs: [&Path; 2],
    jobs: usize,
    rounds: usize,
) -> Result<()> {
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let [one, two] = self::round(server, programs, jobs, round % 2 == 0).await?;
        println!("round {round}: p50 {one:.3} ms and {two:.3} ms, {:.3}", two / one);
        ratios.push(two / one);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "ratio  : {:.3} (median), {:.3}–{:.3}",
        ratios[rounds / 2],
        ratios[0],
        ratios[rounds - 1]
    );
    Ok(())
}

/// The second begins first where `swapped`.
async fn round(
    server: &Server,
    programs: [&Path; 2],
    jobs: usize,
    swapped: bool,
) -> Result<[f64; 2]> {
    let mut builds = Vec::new();
    for (program, database) in programs.into_iter().zip(["jobkit_beside_1", "jobkit_beside_2"]) {
        builds.push(Build::start(program, &server.empty(database).await?, jobs).await?);
    }
    for build in &mut builds {
        build.hear("START").await?;
    }
    let order = if swapped { [1, 0] } else { [0, 1] };
    for (place, build) in order.into_iter().enumerate() {
        builds[build].go().await?;
        if place == 0 {
            tokio::time::sleep(GAP / 2).await;
        }
    }
    let [two, one] = [builds.pop(), builds.pop()].map(|build| build.context("there are two"));
    let medians = [one?.end().await?, two?.end().await?];
    for database in ["jobkit_beside_1", "jobkit_beside_2"] {
        server.drop(database).await?;
    }
    Ok(medians)
}
