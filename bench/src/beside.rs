//! Two builds of jobkit, both at work at the same time on one server: whatever else the machine
//! does meets both alike.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::server::Server;

/// Between two jobs of one build; those of the other come in the middle.
const GAP: Duration = Duration::from_millis(20);

/// What both do.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// The wait of so many lone jobs for an idle worker, the median in milliseconds.
    Latency(u64),
    /// Jobs a second of so many producers, each job in a transaction of its own.
    Enqueue(u64),
    /// How many jobs are done when one of them is through so many.
    Drain(u64),
}

impl Work {
    pub(crate) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "latency" => Self::Latency(1_500),
            "enqueue1" => Self::Enqueue(1),
            "enqueue16" => Self::Enqueue(16),
            "drain" => Self::Drain(400_000),
            _ => bail!("{name} is not latency, enqueue1, enqueue16 or drain"),
        })
    }

    fn arguments(self) -> Vec<String> {
        match self {
            Self::Latency(jobs) => {
                vec!["latency".into(), jobs.to_string(), GAP.as_millis().to_string()]
            }
            Self::Enqueue(producers) => vec!["enqueue".into(), producers.to_string(), "8".into()],
            Self::Drain(_) => vec!["work".into()],
        }
    }
}

/// The program `peer-jobkit` of one build, with a database of its own.
struct Build {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Build {
    async fn start(program: &Path, url: &str, work: Work) -> Result<Self> {
        run(program, url, &["setup"]).await?;
        if let Work::Drain(jobs) = work {
            run(program, url, &["bulk", &jobs.to_string()]).await?;
        }
        let mut command = Command::new(program);
        command.args(work.arguments()).env("DATABASE_URL", url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
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
        bail!("it ended before it said {mark}")
    }

    async fn go(&mut self) -> Result<()> {
        Ok(self.stdin.write_all(b"\n").await?)
    }

    /// What came out, once it has ended by itself.
    async fn end(mut self) -> Result<Value> {
        let end = serde_json::from_str(&self.hear("END ").await?)?;
        self.go().await?;
        self.child.wait().await?;
        Ok(end)
    }

    /// Goes on until it has done so many, and says by the way how many it has.
    async fn work_off(&mut self, jobs: u64, done: &mut u64) -> Result<()> {
        while *done < jobs {
            *done = self.hear("DONE ").await?.parse()?;
        }
        Ok(())
    }
}

/// Does what needs no partner, to its end.
async fn run(program: &Path, url: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).env("DATABASE_URL", url);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    // It asks when to begin and when to end.
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    let _it_may_not_ask = stdin.write_all(b"\n\n").await;
    ensure!(child.wait().await?.success(), "{} {arguments:?} failed", program.display());
    Ok(())
}

/// Prints the figures of each round, and the median of their ratios, the second build to the first.
pub(crate) async fn compare(
    server: &Server,
    programs: [&Path; 2],
    work: Work,
    rounds: usize,
) -> Result<()> {
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let [one, two] = self::round(server, programs, work, round % 2 == 0).await?;
        println!("round {round}: {one:.3} and {two:.3}, {:.3}", two / one);
        ratios.push(two / one);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "ratio  : {:.3} (median), {:.3}–{:.3}",
        f64::midpoint(ratios[(rounds - 1) / 2], ratios[rounds / 2]),
        ratios[0],
        ratios[rounds - 1]
    );
    Ok(())
}

/// The second begins first where `swapped`.
async fn round(
    server: &Server,
    programs: [&Path; 2],
    work: Work,
    swapped: bool,
) -> Result<[f64; 2]> {
    let mut builds = Vec::new();
    for (program, database) in programs.into_iter().zip(["jobkit_beside_1", "jobkit_beside_2"]) {
        builds.push(Build::start(program, &server.empty(database).await?, work).await?);
    }
    for build in &mut builds {
        build.hear("START").await?;
    }
    let order = if swapped { [1, 0] } else { [0, 1] };
    for (place, build) in order.into_iter().enumerate() {
        builds[build].go().await?;
        if place == 0 && matches!(work, Work::Latency(_)) {
            tokio::time::sleep(GAP / 2).await;
        }
    }
    let [Some(two), Some(one)] = [builds.pop(), builds.pop()] else { bail!("there are two") };
    let figures = figures(one, two, work).await?;
    for database in ["jobkit_beside_1", "jobkit_beside_2"] {
        server.drop(database).await?;
    }
    Ok(figures)
}

async fn figures(mut one: Build, mut two: Build, work: Work) -> Result<[f64; 2]> {
    if let Work::Drain(jobs) = work {
        let (mut first, mut second) = (0, 0);
        tokio::select! {
            ended = one.work_off(jobs, &mut first) => ended?,
            ended = two.work_off(jobs, &mut second) => ended?,
        }
        // Both are told that it is enough, and asked when they may end.
        for build in [&mut one, &mut two] {
            build.go().await?;
        }
        tokio::try_join!(one.end(), two.end())?;
        return Ok([first as f64, second as f64]);
    }
    let figure = |end: Value| {
        let figure = match work {
            Work::Latency(_) => end["latency"]["p50"].as_f64(),
            _ => end["n"].as_f64().zip(end["secs"].as_f64()).map(|(jobs, secs)| jobs / secs),
        };
        figure.context("it says no figure")
    };
    let (one, two) = tokio::try_join!(one.end(), two.end())?;
    Ok([figure(one)?, figure(two)?])
}
