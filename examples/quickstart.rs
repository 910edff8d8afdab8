//! Hashes the files of a folder in background jobs: `cargo run --example quickstart -- FOLDER`

use std::os::unix::ffi::OsStringExt;
use std::{env, ffi::OsString, fs, io, time::Duration};

use anyhow::Context;
use indicatif::{HumanBytes, ProgressBar};
use jobkit::{Job, JobContext, JobError, Worker, job};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use walkdir::WalkDir;

const TABLE: &str = "create table if not exists quickstart (
    id bigserial primary key, path bytea not null, bytes bigint, sha256 bytea, error text)";
const SKIPPED: [&str; 3] = [".git", ".postgres", "target"];

/// Hashes one file: its row says which, and takes the result.
#[derive(serde::Serialize, serde::Deserialize)]
#[job(queue = "hash")]
struct HashFile(i64);

impl Job<PgPool> for HashFile {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let find = sqlx::query_scalar("select path from quickstart where id = $1");
        let path = OsString::from_vec(find.bind(self.0).fetch_one(cx.state()).await?);
        let hashed = cx.blocking(|_| hash(path)).await; // on a thread of its own
        let error = hashed.as_ref().err().map(ToString::to_string);
        let (bytes, sha256) = hashed.ok().unzip();
        let update = "update quickstart set bytes = $2, sha256 = $3, error = $4 where id = $1";
        let update = sqlx::query(update).bind(self.0).bind(bytes).bind(sha256).bind(&error);
        update.execute(cx.state()).await?;
        error.map_or(Ok(()), |error| Err(JobError::dead(error))) // trying again would not help
    }
}

fn hash(path: OsString) -> io::Result<(i64, Vec<u8>)> {
    let mut sha256 = Sha256::new();
    let bytes = io::copy(&mut fs::File::open(path)?, &mut sha256)?;
    Ok((bytes.cast_signed(), sha256.finalize().to_vec()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    let walk = WalkDir::new(fs::canonicalize(folder)?).min_depth(1).into_iter();
    let walk = walk.filter_entry(|e| SKIPPED.iter().all(|name| e.file_name() != *name));
    let entries = walk.filter_map(|e| e.inspect_err(|error| eprintln!("skipped: {error}")).ok());
    let files = entries.filter(|entry| entry.file_type().is_file());
    let paths: Vec<_> = files.map(|file| file.into_path().into_os_string().into_vec()).collect();

    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;

    let mut tx = pool.begin().await?;
    let insert = "insert into quickstart (path) select unnest($1) returning id";
    let ids: Vec<i64> = sqlx::query_scalar(insert).bind(paths).fetch_all(&mut *tx).await?;
    jobkit::enqueue_all(ids.iter().copied().map(HashFile), &mut *tx).await?;
    tx.commit().await?; // the rows and their jobs exist from here on, and not before

    let worker = Worker::new(pool.clone()).state(pool.clone()).queue("hash", 16).start().await?;
    let bar = ProgressBar::new(ids.len() as u64);
    let [mut hashed, mut failed, mut bytes] = [0; 3];
    while hashed + failed < ids.len() as i64 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let sums = "select count(bytes), count(error), coalesce(sum(bytes), 0)::bigint
            from quickstart where id = any ($1)";
        (hashed, failed, bytes) = sqlx::query_as(sums).bind(&ids).fetch_one(&pool).await?;
        bar.set_position((hashed + failed) as u64);
    }
    worker.stop().await;
    bar.finish();
    println!("hashed {hashed} files ({}), {failed} failed", HumanBytes(bytes as u64));
    let failures = "select path, error from quickstart where id = any ($1) and error <> ''";
    let failures = sqlx::query_as(failures).bind(&ids).fetch_all(&pool).await?;
    for (path, error) in failures as Vec<(Vec<u8>, String)> {
        println!("  {:?}: {error}", OsString::from_vec(path));
    }
    Ok(())
}
