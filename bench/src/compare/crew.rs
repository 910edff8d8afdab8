//! Programs of one contestant at work; `bench/peers/harness` is their side of it.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::contestant::Contestant;

const START: Duration = Duration::from_secs(60);
const LEAVE: Duration = Duration::from_secs(5);
/// Who has done nothing for so long does not work any more.
const STILL: Duration = Duration::from_secs(20);

/// What a program says.
enum Mark {
    Start,
    Done(u64),
    End(Value),
    Gone,
}

/// As many processes as work together.
pub(crate) struct Crew {
    members: Vec<(Child, ChildStdin)>,
    marks: mpsc::Receiver<(usize, Mark)>,
}

/// What they are asked to do.
pub(crate) struct Order<'a> {
    pub(crate) url: &'a str,
    pub(crate) task: Vec<String>,
    pub(crate) knobs: Vec<(&'static str, String)>,
    pub(crate) processes: usize,
    /// Where they write what is wrong.
    pub(crate) log: &'a Path,
}

impl Crew {
    /// Starts them all, and waits until they are ready.
    pub(crate) async fn start(contestant: &Contestant, order: Order<'_>) -> Result<Self> {
        let (say, marks) = mpsc::channel(64);
        let mut crew = Self { members: Vec::new(), marks };
        for number in 0..order.processes {
            let log = OpenOptions::new().create(true).append(true).open(order.log)?;
            let mut command = contestant.command()?;
            command.args(&order.task).env("DATABASE_URL", order.url);
            command.envs(order.knobs.iter().map(|(name, value)| (name, value)));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
            let mut child = command.spawn().context("its program does not start")?;
            let stdin = child.stdin.take().context("stdin is a pipe")?;
            let stdout = child.stdout.take().context("stdout is a pipe")?;
            tokio::spawn(listen(number, stdout, say.clone()));
            crew.members.push((child, stdin));
        }
        let mut ready = 0;
        while ready < order.processes {
            match timeout(START, crew.hear()).await.context("it is not ready in time")?? {
                (_, Mark::Start) => ready += 1,
                _ => bail!("it works before it is told to"),
            }
        }
        Ok(crew)
    }

    /// Their process ids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members.iter().filter_map(|(child, _)| child.id()).collect()
    }

    /// Lets all of them begin, stop, or leave: whatever they wait for.
    pub(crate) async fn go(&mut self) -> Result<()> {
        for (_, stdin) in &mut self.members {
            stdin.write_all(b"\n").await?;
            stdin.flush().await?;
        }
        Ok(())
    }

    /// Waits until all of them together have done so many jobs, at most so long, and calls
    /// `progress` with how many they have done.
    ///
    /// # Errors
    /// When they stop working: that is not to be slow.
    pub(crate) async fn done(
        &mut self,
        jobs: u64,
        limit: Duration,
        mut progress: impl FnMut(u64),
    ) -> Result<u64> {
        let until = Instant::now() + limit;
        let mut done = vec![0; self.members.len()];
        while done.iter().sum::<u64>() < jobs {
            let still = Instant::now() + STILL;
            match timeout_at(until.min(still), self.hear()).await {
                Ok(Ok((number, Mark::Done(jobs)))) => done[number] = jobs,
                Ok(Ok(_)) => bail!("it ends before it is told to"),
                Ok(Err(error)) => return Err(error),
                Err(_) if still < until => {
                    bail!(
                        "it stopped working: {} of {jobs} jobs are done",
                        done.iter().sum::<u64>()
                    )
                }
                Err(_) => break,
            }
            progress(done.iter().sum());
        }
        Ok(done.iter().sum())
    }

    /// What each of them ends with.
    pub(crate) async fn ends(&mut self, limit: Duration) -> Result<Vec<Value>> {
        let until = Instant::now() + limit;
        let mut ends = Vec::new();
        while ends.len() < self.members.len() {
            match timeout_at(until, self.hear()).await.context("it does not end in time")?? {
                (_, Mark::End(value)) => ends.push(value),
                (_, Mark::Done(_)) => {}
                _ => bail!("it starts twice"),
            }
        }
        Ok(ends)
    }

    /// Sends them home.
    pub(crate) async fn leave(mut self) -> Result<()> {
        self.go().await?;
        for (child, _) in &mut self.members {
            if timeout(LEAVE, child.wait()).await.is_err() {
                child.kill().await?;
            }
        }
        Ok(())
    }

    /// Stops members that work, and sends them home with what they end with.
    pub(crate) async fn dismiss(mut self) -> Result<Vec<Value>> {
        self.go().await?;
        let ends = self.ends(LEAVE).await?;
        self.leave().await?;
        Ok(ends)
    }

    async fn hear(&mut self) -> Result<(usize, Mark)> {
        match self.marks.recv().await {
            Some((_, Mark::Gone)) | None => bail!("its program has failed"),
            Some(said) => Ok(said),
        }
    }
}

async fn listen(number: usize, stdout: ChildStdout, say: mpsc::Sender<(usize, Mark)>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mark = match line.split_once(' ') {
            None if line == "START" => Mark::Start,
            Some(("DONE", jobs)) => Mark::Done(jobs.parse().unwrap_or(0)),
            Some(("END", json)) => Mark::End(serde_json::from_str(json).unwrap_or(Value::Null)),
            _ => continue,
        };
        if say.send((number, mark)).await.is_err() {
            return;
        }
    }
    // Nobody waits for it any more after the end.
    let _ = say.send((number, Mark::Gone)).await;
}
