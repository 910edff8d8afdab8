//! Jobs that were claimed before there was a slot for them, in a process that is killed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use jobkit_tests::Lab;

use crate::jobs::Act;
use crate::oracle::Folder;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, all_done, enqueue, heavy_turn, lab};

/// Who claimed which jobs ahead, from whom they were taken back, and who died with which job.
const RECORD: &str = "
    create table ahead (worker_id bigint, n bigint, job_ids bigint[], taken_back boolean);
    create table charges (job_id bigint, worker_id bigint);
    create table names (worker_id bigint primary key, name text not null);
    create function record() returns trigger language plpgsql as $$ begin
        if tg_table_name = 'attempts' then
            insert into public.charges values (new.job_id, new.worker_id);
        elsif tg_table_name = 'workers' then
            insert into public.names values (new.id, new.name);
        elsif tg_op = 'INSERT' then
            insert into public.ahead values (new.worker_id, new.n, new.job_ids, false);
        elsif not exists (select from jobkit.workers w where w.id = old.worker_id) then
            insert into public.ahead values (old.worker_id, old.n, old.job_ids, true);
        end if;
        return null;
    end $$;
    create trigger record after insert on jobkit.workers
        for each row execute function record();
    create trigger claimed after insert on jobkit.claims
        for each row when (new.ahead) execute function record();
    create trigger taken_back after delete on jobkit.claims
        for each row when (old.ahead) execute function record();
    create trigger record after insert on jobkit.attempts
        for each row when (new.outcome = 'crash') execute function record()";

const KILLS: usize = 12;

#[tokio::test]
async fn a_job_that_had_not_begun_is_never_charged() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    lab.run(RECORD).await;
    let diaries = Folder::new();
    let program = Program {
        concurrency: 4,
        diary: Some(diaries.path().to_owned()),
        ..Program::quick(lab.url())
    };
    let mut jobs = load(&lab).await;
    let survivor = Process::start(&program).await;
    for _ in 0..KILLS {
        jobs += run_and_kill(&lab, Process::start(&program).await, diaries.path()).await;
    }
    all_done(&lab).await;
    survivor.stop().await;
    lab.check_invariants().await;
    let finished = lab.count("jobkit.finished where outcome = 'finish'").await;
    assert_eq!(usize::try_from(finished).unwrap(), jobs);

    let begun = begun(&diaries);
    let process = |name: &str| begun.get(name.rsplit(':').next().unwrap_or_default());
    let began = |name: &str, job: i64| process(name).is_some_and(|jobs| jobs.contains(&job));
    let charged: Vec<(i64, String)> = rows(
        &lab,
        "select c.job_id, w.name from charges c join names w using (worker_id)
        where exists (select from ahead a where a.worker_id = c.worker_id
            and c.job_id = any (a.job_ids))",
    )
    .await;
    for (job, worker) in &charged {
        assert!(began(worker, *job), "job {job} was charged, and had not begun");
    }
    let taken_back: Vec<(i64, String)> = rows(
        &lab,
        "select unnest(a.job_ids), w.name from ahead a join names w using (worker_id)
        where a.taken_back",
    )
    .await;
    let waited = taken_back.iter().filter(|(job, worker)| !began(worker, *job)).count();
    assert!(waited > 0, "none was waiting when its process died: this proved nothing");
    println!("{} taken back, of which {waited} had not begun", taken_back.len());
}

/// Returns how many jobs it has enqueued.
async fn load(lab: &Lab) -> usize {
    enqueue(lab, 1_000, Act::Sleep(Duration::from_millis(1))).await.len()
}

/// Kills a process that has run some more jobs. Returns how many were enqueued meanwhile: the
/// survivor would leave nothing to one that is slow.
async fn run_and_kill(lab: &Lab, mut process: Process, diaries: &Path) -> usize {
    let diary = diaries.join(process.pid().to_string());
    let lines = || std::fs::read_to_string(&diary).map_or(0, |diary| diary.lines().count());
    let most = lines() + 100 + fastrand::usize(..200);
    let (began, mut jobs) = (Instant::now(), 0);
    while lines() < most {
        assert!(began.elapsed() < PATIENCE, "it runs no jobs");
        if lab.count("jobkit.ready").await < 500 {
            jobs += load(lab).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    process.kill();
    jobs
}

async fn rows(lab: &Lab, sql: &'static str) -> Vec<(i64, String)> {
    sqlx::query_as(sql).fetch_all(lab.pool()).await.unwrap()
}

/// The jobs that began in each process, by its id.
fn begun(diaries: &Folder) -> HashMap<String, HashSet<i64>> {
    let files = std::fs::read_dir(diaries.path()).unwrap().map(|file| file.unwrap().path());
    let read = |file: std::path::PathBuf| {
        let diary = std::fs::read_to_string(&file).unwrap();
        let jobs = diary.lines().filter_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [_, "begin", _, job] => Some(job.parse().unwrap()),
            _ => None,
        });
        (file.file_name().unwrap().to_string_lossy().into_owned(), jobs.collect())
    };
    files.map(read).collect()
}
