//! A web application that hashes folders in background jobs: `cargo run --example axum_app`
//!
//! One process serves the pages and the dashboard, and runs the jobs. Ctrl-C and SIGTERM end all of
//! it in step: requests under way are answered, open pages of the dashboard are told, jobs under
//! way end or go back, and what is left waits for the next start.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;
use std::{fs, io};

use anyhow::Context;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, serve};
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Worker, job};
use jobkit_admin::Dashboard;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tracing_subscriber::filter::LevelFilter;
use walkdir::WalkDir;

const TABLES: &str = "
create table if not exists folders (
    id bigserial primary key, path text not null, error text);
create table if not exists files (
    id bigserial primary key, folder_id bigint not null references folders, path bytea not null,
    bytes bigint, sha256 bytea, error text, unique (folder_id, path));
";

/// Lists a folder: one row, and one job, for each file in it.
#[derive(Serialize, Deserialize)]
#[job(queue = "folders", max_attempts = 3)]
struct ListFolder {
    folder: i64,
}

impl Job<PgPool> for ListFolder {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let find = sqlx::query_scalar("select path from folders where id = $1");
        let path: String = find.bind(self.folder).fetch_one(cx.state()).await?;
        let paths = match cx.blocking(|_| list(path)).await {
            Ok(paths) => paths,
            Err(error) => {
                let update = sqlx::query("update folders set error = $2 where id = $1");
                update.bind(self.folder).bind(error.to_string()).execute(cx.state()).await?;
                return Err(JobError::dead(error));
            }
        };

        // A job may run twice: files that are there already have their jobs.
        let insert = "insert into files (folder_id, path) select $1, unnest($2)
            on conflict do nothing returning id";
        let mut tx = cx.state().begin().await?;
        let insert = sqlx::query_scalar(insert).bind(self.folder).bind(paths);
        let files: Vec<i64> = insert.fetch_all(&mut *tx).await?;
        jobkit::enqueue_all(files.into_iter().map(|file| HashFile { file }), &mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// The files in a folder and below it; what cannot be listed is left out.
fn list(folder: String) -> io::Result<Vec<Vec<u8>>> {
    let entries = WalkDir::new(fs::canonicalize(folder)?).into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file());
    Ok(files.map(|file| file.into_path().into_os_string().into_vec()).collect())
}

/// Hashes one file.
#[derive(Serialize, Deserialize)]
#[job(queue = "files")]
struct HashFile {
    file: i64,
}

impl Job<PgPool> for HashFile {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let find = sqlx::query_scalar("select path from files where id = $1");
        let path = OsString::from_vec(find.bind(self.file).fetch_one(cx.state()).await?);
        match cx.blocking(|_| hash(path)).await {
            Ok((bytes, sha256)) => {
                let update = "update files set bytes = $2, sha256 = $3, error = null where id = $1";
                let update = sqlx::query(update).bind(self.file).bind(bytes).bind(sha256);
                update.execute(cx.state()).await?;
                Ok(())
            }
            Err(error) => {
                let update = sqlx::query("update files set error = $2 where id = $1");
                update.bind(self.file).bind(error.to_string()).execute(cx.state()).await?;
                Err(JobError::dead(error))
            }
        }
    }
}

fn hash(path: OsString) -> io::Result<(i64, Vec<u8>)> {
    let mut sha256 = Sha256::new();
    let bytes = io::copy(&mut fs::File::open(path)?, &mut sha256)?;
    Ok((bytes.cast_signed(), sha256.finalize().to_vec()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_max_level(LevelFilter::INFO).init();
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    sqlx::raw_sql(TABLES).execute(&pool).await?;

    let worker = Worker::new(pool.clone()).state(pool.clone());
    let worker = worker.queue("folders", 2).queue("files", 8);
    let worker = worker.stop_within(Duration::from_secs(10)).start().await?; // as Docker does

    // Everybody on this machine may do everything, by its own names (`localhost`, 127.0.0.1); a
    // real application has `.access(..)`.
    let jobs = Dashboard::new(Admin::new(&pool)).allow_unauthenticated();
    let jobs = jobs.stop_with(worker.stopping()).into_router();
    let routes = Router::new().route("/", get(show)).route("/folders", post(add)).with_state(pool);
    let routes = routes.nest_service("/jobs", jobs);
    let listener = listen().await?;
    println!("http://{}", listener.local_addr()?);
    let server = serve(listener, routes).with_graceful_shutdown(worker.stopping());
    tokio::try_join!(server.into_future(), worker.run_until_signal())?;
    println!("stopped");
    Ok(())
}

/// The port in `PORT`, or 3000; any free one when that is taken.
async fn listen() -> io::Result<TcpListener> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(3000);
    match TcpListener::bind(("127.0.0.1", port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(("127.0.0.1", 0)).await
        }
        bound => bound,
    }
}

#[derive(Deserialize)]
struct NewFolder {
    path: String,
}

/// Stores a folder together with the job that lists it.
async fn add(State(pool): State<PgPool>, Form(new): Form<NewFolder>) -> Result<Redirect, Failure> {
    let mut tx = pool.begin().await?;
    let insert = sqlx::query_scalar("insert into folders (path) values ($1) returning id");
    let folder: i64 = insert.bind(new.path).fetch_one(&mut *tx).await?;
    ListFolder { folder }.enqueue(&mut *tx).await?;
    tx.commit().await?;
    Ok(Redirect::to("/"))
}

/// The folders with their counts, and the files that changed last.
async fn show(State(pool): State<PgPool>) -> Result<Html<String>, Failure> {
    type Folder = (String, i64, i64, i64, Option<String>);
    let folders: Vec<Folder> = sqlx::query_as(
        "select d.path, count(f.id), count(f.bytes), count(f.error), d.error
        from folders d left join files f on f.folder_id = d.id
        group by d.id order by d.id desc limit 20",
    )
    .fetch_all(&pool)
    .await?;
    type File = (Vec<u8>, Option<i64>, Option<String>);
    let files: Vec<File> = sqlx::query_as(
        "select path, bytes, coalesce(error, encode(sha256, 'hex')) from files
        order by id desc limit 100",
    )
    .fetch_all(&pool)
    .await?;

    let folders: String = folders
        .iter()
        .map(|(path, all, hashed, failed, error)| {
            let [all, hashed, failed] = [all, hashed, failed].map(i64::to_string);
            row([path, &all, &hashed, &failed, error.as_deref().unwrap_or("")])
        })
        .collect();
    let files: String = files
        .iter()
        .map(|(path, bytes, result)| {
            let path = OsStr::from_bytes(path).to_string_lossy();
            let bytes = bytes.map_or(String::new(), |bytes| bytes.to_string());
            row([&path, &bytes, result.as_deref().unwrap_or("waiting")])
        })
        .collect();
    Ok(Html(format!(include_str!("axum_app.html"), folders = folders, files = files)))
}

fn row<const N: usize>(cells: [&str; N]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let cells = cells.map(|cell| format!("<td>{}</td>", escape(cell)));
    format!("<tr>{}</tr>\n", cells.concat())
}

/// Any error, as an answer.
struct Failure(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("{:#}\n", self.0)).into_response()
    }
}
