//! What the crate promises, tried in projects made for the purpose.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use private_postgres::{Cluster, Mode, Purpose};
use sqlx::{Connection, PgConnection, query, query_scalar};

/// An empty project with no server yet; its servers are stopped and its folder removed on drop.
struct Project(PathBuf);

impl Project {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("project-{name}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("Cargo.lock"), "").unwrap();
        Self(folder)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_private-postgres"));
        command.args(arguments).env("CARGO_MANIFEST_DIR", &self.0);
        command.env_remove("DATABASE_URL").env_remove("PRIVATE_POSTGRES_FOR_TESTS");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn url(&self) -> String {
        finish(self.program(&["url", "test"]).spawn().unwrap())
    }

    /// The data folder of the project's test cluster.
    fn data(&self) -> PathBuf {
        let folder = self.0.join(".postgres");
        let mut found = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        found.find(|path| path.is_dir() && path.extension().is_none()).unwrap()
    }

    fn postmaster_pid(&self) -> String {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _status = self.program(&["stop"]).status();
        let _result = fs::remove_dir_all(&self.0);
    }
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Where only a running server is at hand there is nothing to try here.
fn programs_are_missing() -> bool {
    let given = std::env::var("DATABASE_URL").is_ok_and(|url| !url.is_empty());
    let missing = given && Cluster::throwaway(&[]).is_err();
    if missing {
        eprintln!("skipped: PostgreSQL's server programs are not installed");
    }
    missing
}

async fn ask(url: &str, sql: &'static str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

async fn tell(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    query(sql).execute(&mut connection).await.unwrap();
}

/// Kills a process and waits for its end: until then it still takes connections, and resets them.
fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
    let end = Instant::now() + Duration::from_secs(30);
    while is_alive(pid) {
        assert!(Instant::now() < end, "{pid} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Nobody may be there to collect what is left of a dead process: a zombie is not alive.
fn is_alive(pid: &str) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
        return !state.is_empty() && !state.starts_with(b"Z");
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_name, state)| !state.starts_with('Z'))
}

#[tokio::test]
async fn processes_that_ask_at_once_share_one_server() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("shared");
    let start = || project.program(&["url", "test"]).spawn().unwrap();
    let asking: Vec<Child> = (0..4).map(|_| start()).collect();
    let urls: Vec<String> = asking.into_iter().map(finish).collect();
    assert!(urls.iter().all(|url| *url == urls[0]), "{urls:?}");
    assert_eq!(ask(&urls[0], "show fsync").await, "off");
    assert_eq!(ask(&urls[0], "show max_connections").await, "300");
}

#[tokio::test]
async fn the_demo_cluster_is_durable_and_apart() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("demo");
    let demo = finish(project.program(&["url"]).spawn().unwrap());
    assert_ne!(demo, project.url());
    assert_eq!(ask(&demo, "show fsync").await, "on");
    assert_eq!(ask(&demo, "show synchronous_commit").await, "on");
}

#[tokio::test]
async fn data_stays_for_the_next_run() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("kept");
    tell(&project.url(), "create table kept as select 'here' as note").await;
    assert!(project.program(&["stop"]).status().unwrap().success());
    assert_eq!(ask(&project.url(), "select note from kept").await, "here");
}

#[tokio::test]
async fn a_crashed_servers_pid_file_is_no_obstacle() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("stale");
    project.url();
    let pid_file = project.data().join("postmaster.pid");
    let stale = fs::read_to_string(&pid_file).unwrap();
    kill(&project.postmaster_pid());
    assert_eq!(ask(&project.url(), "select 'up'").await, "up");
    // As after a restart of the machine, the number now belongs to some other process.
    assert!(project.program(&["stop"]).status().unwrap().success());
    let (_, rest) = stale.split_once('\n').unwrap();
    fs::write(&pid_file, format!("{}\n{rest}", std::process::id())).unwrap();
    assert_eq!(ask(&project.url(), "select 'up'").await, "up");
}

#[tokio::test]
async fn a_half_made_folder_is_made_again() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("half");
    project.url();
    assert!(project.program(&["stop"]).status().unwrap().success());
    let data = project.data();
    fs::rename(&data, data.with_extension("new-1")).unwrap();
    fs::create_dir(&data).unwrap();
    fs::write(data.join("global"), "").unwrap();
    assert_eq!(ask(&project.url(), "select 'up'").await, "up");
    assert!(!data.with_extension("new-1").exists());
}

#[tokio::test]
async fn a_broken_test_cluster_is_made_again() {
    if programs_are_missing() {
        return;
    }
    let project = Project::new("broken");
    project.url();
    assert!(project.program(&["stop"]).status().unwrap().success());
    fs::write(project.data().join("global/pg_control"), "lost").unwrap();
    assert_eq!(ask(&project.url(), "select 'up'").await, "up");
}

#[tokio::test]
async fn a_crash_keeps_what_was_committed() {
    if programs_are_missing() {
        return;
    }
    let cluster = Cluster::throwaway(&[("max_connections", "20")]).unwrap();
    let url = cluster.url();
    assert_eq!(ask(&url, "show max_connections").await, "20");
    assert_eq!(ask(&url, "show fsync").await, "on");
    tell(&url, "create table kept as select 'here' as note").await;
    cluster.restart(Mode::Immediate).unwrap();
    assert_eq!(cluster.url(), url);
    assert_eq!(ask(&url, "select note from kept").await, "here");
    kill(&cluster.postmaster_pid().unwrap().to_string());
    cluster.start().unwrap();
    assert_eq!(ask(&url, "select note from kept").await, "here");
    cluster.stop(Mode::Fast).unwrap();
    assert!(cluster.postmaster_pid().is_err());
    assert!(PgConnection::connect(&url).await.is_err());
}

#[tokio::test]
async fn a_dropped_cluster_leaves_nothing() {
    if programs_are_missing() {
        return;
    }
    let cluster = Cluster::throwaway(&[]).unwrap();
    let data = ask(&cluster.url(), "show data_directory").await;
    let pid = cluster.postmaster_pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    drop(cluster);
    assert!(!Path::new(&data).parent().unwrap().exists());
}

#[tokio::test]
async fn a_server_in_use_is_not_stopped() {
    if programs_are_missing() || std::env::var("DATABASE_URL").is_ok() {
        return;
    }
    // This very process uses the project's server until it ends.
    let url = private_postgres::url(Purpose::Test).unwrap();
    let mut stop = Command::new(env!("CARGO_BIN_EXE_private-postgres"));
    assert!(stop.args(["stop", "test"]).status().unwrap().success());
    assert_eq!(ask(&url, "select 'up'").await, "up");
}

/// Says where it has a cluster, and waits to be killed: run by the test below.
#[tokio::test]
#[ignore = "only a part of the next test"]
async fn holds_a_cluster() {
    let cluster = Cluster::throwaway(&[]).unwrap();
    println!("\ndata={}", ask(&cluster.url(), "show data_directory").await);
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[test]
fn a_killed_process_leaves_no_cluster() {
    if programs_are_missing() {
        return;
    }
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.args(["--ignored", "--exact", "--nocapture", "holds_a_cluster"]);
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let data = lines.map_while(Result::ok).find_map(|l| l.strip_prefix("data=").map(str::to_owned));
    let folder = PathBuf::from(data.unwrap()).parent().unwrap().to_owned();
    assert!(folder.exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while folder.exists() {
        assert!(Instant::now() < end, "{} is still there", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}
