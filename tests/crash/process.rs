use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobkit_tests::wait;
use serde::Deserialize;
use serde_json::Value;

use crate::diary::Diary;
use crate::program::Program;

/// How long a process may take to start, to answer or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

impl Program {
    /// With all times as jobkit has them.
    pub(crate) fn with_defaults(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            effects_url: url.to_owned(),
            lease: None,
            reap_every: None,
            sweep_every: None,
            poll: None,
            call_deadline: None,
            stop_within: None,
            listen: true,
            few_connections: None,
            queues: vec!["default".to_owned()],
            concurrency: 10,
            workers: 1,
            threads: 2,
            log: None,
            diary: None,
        }
    }

    /// With a lease of 2 s, and everything else in proportion.
    pub(crate) fn quick(url: &str) -> Self {
        Self {
            lease: Some(Duration::from_secs(2)),
            reap_every: Some(Duration::from_millis(500)),
            sweep_every: Some(Duration::from_secs(1)),
            poll: Some(Duration::from_millis(200)),
            ..Self::with_defaults(url)
        }
    }
}

/// A worker process. It is killed when this is dropped, and stops when the test dies.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    events: Arc<Mutex<Vec<(String, Value)>>>,
    diary: Option<Diary>,
}

/// What a process says of its workers.
#[derive(Deserialize, Debug, Clone)]
pub(crate) struct Counts {
    pub(crate) workers: Vec<i64>,
    pub(crate) claimed: u64,
    pub(crate) finished: u64,
    pub(crate) lost: u64,
    pub(crate) reaped: u64,
    pub(crate) unanswered: u64,
}

impl Process {
    /// Starts one, and waits until its workers are registered.
    pub(crate) async fn start(program: &Program) -> Self {
        let process = Self::launch(program);
        let ready = || async { !process.events("ready").is_empty() };
        wait(PATIENCE, "a worker process starts", ready).await;
        process
    }

    /// Starts one without waiting.
    pub(crate) fn launch(program: &Program) -> Self {
        let log = std::env::var_os("RUST_LOG").is_some();
        let mut child = Command::new(env!("CARGO_BIN_EXE_crash-worker"))
            .arg(serde_json::to_string(program).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if log { Stdio::inherit() } else { Stdio::null() })
            .spawn()
            .unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (heard, stdout) = (Arc::clone(&events), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A process that is killed may leave half a line.
                if let Ok(Value::Object(mut line)) = serde_json::from_str(&line) {
                    let event = line["event"].as_str().unwrap_or_default().to_owned();
                    heard.lock().unwrap().push((event, line["more"].take()));
                }
            }
        });
        let diary = program.diary.as_ref().map(|folder| Diary::open(folder, child.id()).unwrap());
        Self { child, events, diary }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said of this so far.
    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|(said, _)| said == event).map(|(_, more)| more.clone()).collect()
    }

    /// Its counters now.
    pub(crate) async fn counts(&mut self) -> Counts {
        let before = self.events("counts").len();
        self.child.stdin.as_mut().unwrap().write_all(b"count\n").unwrap();
        wait(PATIENCE, "a process counts", || async { self.events("counts").len() > before }).await;
        serde_json::from_value(self.events("counts")[before].clone()).unwrap()
    }

    /// Its counters once this holds. It counts an outcome after everybody can see it, and a new id
    /// after it has counted what it lost under the old one.
    pub(crate) async fn counted(&mut self, what: &str, holds: impl Fn(&Counts) -> bool) -> Counts {
        let asked = Instant::now();
        loop {
            let counts = self.counts().await;
            if holds(&counts) {
                return counts;
            }
            assert!(asked.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}: {counts:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.note("dead");
    }

    /// Whether it has ended, whatever the reason.
    pub(crate) fn is_dead(&mut self) -> bool {
        let dead = self.child.try_wait().unwrap().is_some();
        if dead {
            self.note("dead");
        }
        dead
    }

    /// Tells it to stop with SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Freezes it with SIGSTOP.
    pub(crate) fn freeze(&self) {
        self.note("freeze");
        self.signal("STOP");
    }

    /// Thaws it with SIGCONT.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
        self.note("thaw");
    }

    /// Writes down what was done to it, where that is asked for.
    fn note(&self, what: &str) {
        if let Some(diary) = &self.diary {
            diary.write(what);
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success(), "kill -s {name} {pid}");
    }

    /// Asks it to stop, without waiting.
    pub(crate) fn ask_to_stop(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Stops it in order.
    pub(crate) async fn stop(mut self) {
        self.ask_to_stop();
        assert!(self.ended().await, "a worker process failed");
    }

    /// Waits until it has ended, and says whether it ended well.
    pub(crate) async fn ended(&mut self) -> bool {
        let child = Mutex::new(&mut self.child);
        let ended = || async { child.lock().unwrap().try_wait().unwrap().is_some() };
        wait(PATIENCE, "a process stops", ended).await;
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _dead_already = self.child.kill();
        let _status = self.child.wait();
        self.note("dead");
    }
}
