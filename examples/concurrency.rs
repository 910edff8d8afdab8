//! Hashes files, two of each subfolder at a time: `cargo run --example concurrency -- FOLDER`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs, io, io::Read, time::Duration};

use anyhow::Context;
use jobkit::admin::AdminError;
use jobkit::admin::semaphores::SemaphoreFilter;
use jobkit::{Admin, Job, JobContext, JobError, Worker, job};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

const SKIPPED: [&str; 3] = [".git", ".postgres", "target"];
const FILES_OF_AN_ACCOUNT: usize = 100;
const LARGEST: u64 = 4 * 1024 * 1024;

/// Hashes a file of an account. The worker has room for many; an account never takes more than two.
#[derive(Serialize, Deserialize)]
#[job(queue = "fingerprint", concurrency_key = self.account, concurrency_limit = 2)]
struct Fingerprint {
    account: String,
    path: PathBuf,
}

impl Job<Seen> for Fingerprint {
    async fn run(self, cx: JobContext<Seen>) -> jobkit::Result {
        cx.state().count(&self.account, 1);
        let hashed = cx.blocking(move |_| hash(&self.path)).await;
        cx.state().count(&self.account, -1);
        hashed.map(drop).map_err(JobError::discard) // it is gone by now, or not ours to read
    }
}

fn hash(path: &Path) -> io::Result<Vec<u8>> {
    let mut sha256 = Sha256::new();
    io::copy(&mut fs::File::open(path)?.take(LARGEST), &mut sha256)?;
    Ok(sha256.finalize().to_vec())
}

/// Of each account: how many of its files are being hashed, and the most there ever were.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<String, (i32, i32)>>>);

impl Seen {
    fn count(&self, account: &str, change: i32) {
        let mut seen = self.0.lock().expect("nobody panics while it is locked");
        let (now, most) = seen.entry(account.to_owned()).or_default();
        *now += change;
        *most = (*most).max(*now);
    }
}

/// One job for each file; the subfolder it is in is its account.
fn jobs(folder: &Path) -> impl Iterator<Item = Fingerprint> {
    let accounts = WalkDir::new(folder).min_depth(1).max_depth(1).sort_by_file_name().into_iter();
    let accounts = accounts.filter_entry(|e| SKIPPED.iter().all(|name| e.file_name() != *name));
    accounts.flatten().filter(|entry| entry.file_type().is_dir()).flat_map(|folder| {
        let account = folder.file_name().to_string_lossy().into_owned();
        let walk = WalkDir::new(folder.path()).into_iter().flatten();
        let files = walk.filter(|e| e.file_type().is_file() && e.path().to_str().is_some());
        let files = files.take(FILES_OF_AN_ACCOUNT);
        files.map(move |file| Fingerprint { account: account.clone(), path: file.into_path() })
    })
}

/// Prints which accounts have jobs that wait for a permit, and how it stands with one of those.
async fn print_blocked(admin: &Admin) -> Result<(), AdminError> {
    let blocked = SemaphoreFilter::all().group("fingerprint").blocked();
    let semaphores = admin.semaphores(&blocked, None, 100).await?;
    for key in &semaphores {
        print!("{}: {} of {} run, {} blocked; ", key.key, key.taken, key.limit, key.blocked);
    }
    let Some(first) = semaphores.first() else { return Ok(()) };
    let Some(detail) = admin.semaphore(&first.group, &first.key).await? else { return Ok(()) };
    let Some(last) = detail.blocked.last() else { return Ok(()) };
    let explanation = admin.job(last.job).explain().await?;
    println!("\n  job {}: {}", last.job, explanation.map_or_else(String::new, |e| e.sentence));
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let ids = jobkit::enqueue_all(jobs(&fs::canonicalize(folder)?), &pool).await?;
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();

    let (admin, seen) = (Admin::new(&pool), Seen::default());
    let worker = Worker::new(pool.clone()).state(seen.clone()).queue("fingerprint", 50);
    let worker = worker.start().await?;
    let live = "select count(*) from jobkit.jobs where id = any ($1)";
    while sqlx::query_scalar::<_, i64>(live).bind(&ids).fetch_one(&pool).await? > 0 {
        print_blocked(&admin).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    worker.stop().await;
    println!("hashed {} files", ids.len());
    for (account, (_, most)) in &*seen.0.lock().expect("nobody panics while it is locked") {
        println!("  {account}: at most {most} at a time");
    }
    Ok(())
}
