//! Permits of workers that are frozen, cut off or stopped, and of a server that crashes.

use std::time::{Duration, Instant};

use jobkit_tests::{Lab, Network, Proxy, wait};
use private_postgres::Mode;

use crate::jobs::Act;
use crate::outage::{nobody_is_charged, recover};
use crate::permits::{Watch, check, enqueue_keyed, none_left, uses};
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, all_done, crashable, heavy_turn, lab, light_turn, traces, with};

/// The jobs that began, in order.
async fn order(lab: &Lab, of: &str) -> Vec<i64> {
    lab.value(&format!("select array_agg(job_id order by at) from effects where {of}")).await
}

#[tokio::test]
async fn a_thawed_worker_does_not_give_back_the_permit_of_the_next_attempt() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut frozen = Process::start(&program).await;
    let pid = frozen.pid();
    let first = enqueue_keyed(&lab, 1, [1], Act::Sleep(Duration::from_secs(8))).await[0];
    traces(&lab, 1, "what = 'begin'").await;
    frozen.freeze();
    let brief = Act::Sleep(Duration::ZERO);
    let next = enqueue_keyed(&lab, 1, [1, 1], brief).await;
    let mut other = Process::start(&program).await;
    lab.until("count(*) = 2 from jobkit.blocked_executions").await;
    traces(&lab, 1, "what = 'begin' and attempt = 2").await;
    check(&lab).await;

    frozen.thaw();
    frozen.counted("its late outcome", |counts| counts.lost == 1).await;
    let holders = "select array_agg(job_id) from jobkit.permits";
    assert_eq!(lab.value::<Vec<i64>>(holders).await, [first.0]);
    assert_eq!(lab.count("jobkit.blocked_executions").await, 2);
    check(&lab).await;
    let ended = format!("effects where what = 'end' and pid <> {pid}");
    assert_eq!(lab.count(&ended).await, 0, "it was looked at while the second attempt ran");
    all_done(&lab).await;
    let began = order(&lab, "what = 'begin'").await;
    assert_eq!(began, [first.0, first.0, next[0].0, next[1].0]);
    other.counted("it has reaped", |counts| counts.reaped == 1).await;
    frozen.stop().await;
    other.stop().await;
    uses(&lab).await;
    none_left(&lab).await;
}

#[tokio::test]
async fn a_worker_that_is_cut_off_cancels_its_handlers_before_their_permits_move_on() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    // Of a longer lease there is more left when its own worker gives it up.
    let program = Program { lease: Some(Duration::from_secs(6)), ..Program::quick(lab.url()) };
    let far = Program { url: proxy.url().to_owned(), ..program.clone() };
    let far = Process::start(&far).await;
    enqueue_keyed(&lab, 1, 0..10, Act::WaitOnce).await;
    traces(&lab, 10, "what = 'begin'").await;
    enqueue_keyed(&lab, 1, 0..10, Act::Sleep(Duration::ZERO)).await;
    let near = Process::start(&program).await;
    lab.until("count(*) = 10 from jobkit.blocked_executions").await;
    proxy.set(Network::Stalls);
    all_done(&lab).await;
    let all_say_so = async || far.events("cancelled").len() == 10;
    wait(PATIENCE, "ten say that they were cancelled", all_say_so).await;
    let cancelled = far.events("cancelled");
    let last = cancelled.iter().map(|said| said["at"].as_f64().unwrap()).fold(0.0, f64::max);
    let near_pid = near.pid();
    let first: f64 = lab
        .value(&format!(
            "select extract(epoch from min(at))::float8 from effects where pid = {near_pid}"
        ))
        .await;
    println!("others began {:.2} s after the last handler was cancelled", first - last);
    assert!(first > last, "two of a key ran at once");
    proxy.set(Network::Passes);
    far.stop().await;
    near.stop().await;
    uses(&lab).await;
    none_left(&lab).await;
}

#[tokio::test]
async fn jobs_that_a_stopping_worker_gives_back_keep_their_turn() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut stopping = Process::start(&program).await;
    let hangs = Act::HangIn(stopping.pid());
    let mut alone = enqueue_keyed(&lab, 1, [1], hangs).await;
    let mut pair = enqueue_keyed(&lab, 2, [1, 1], hangs).await;
    traces(&lab, 3, "what = 'begin'").await;
    let brief = Act::Sleep(Duration::from_millis(100));
    alone.extend(enqueue_keyed(&lab, 1, [1; 3], brief).await);
    pair.extend(enqueue_keyed(&lab, 2, [1; 3], brief).await);
    let other = Process::start(&program).await;
    lab.until("count(*) = 6 from jobkit.blocked_executions").await;
    let asked = Instant::now();
    stopping.ask_to_stop();
    let watch = Watch::new(&lab);
    stopping.stop().await;
    all_done(&lab).await;
    println!("all were done {:.1} s after the stop", asked.elapsed().as_secs_f64());
    watch.end().await;

    let pid = other.pid();
    let began = |group: &str| {
        format!(
            "what = 'begin' and pid = {pid} and job_id in (
                select job_id from jobkit.finished where concurrency_group = '{group}')"
        )
    };
    let alone: Vec<i64> = alone.iter().map(|job| job.0).collect();
    assert_eq!(order(&lab, &began("one_at_once")).await, alone);
    let mut first = order(&lab, &began("two_at_once")).await;
    first.truncate(2);
    first.sort_unstable();
    assert_eq!(first, [pair[0].0, pair[1].0]);
    assert_eq!(lab.count("effects where what = 'begin'").await, 3 + 9);
    nobody_is_charged(&lab).await;
    other.stop().await;
    uses(&lab).await;
    none_left(&lab).await;
}

#[tokio::test]
async fn permits_survive_a_crash_of_the_server() {
    let _turn = heavy_turn().await;
    let (cluster, lab) = crashable(&[]).await;
    let program = Program { concurrency: 20, ..Program::quick(lab.url()) };
    let mut workers = [Process::start(&program).await, Process::start(&program).await];
    let watch = Watch::new(&lab);
    let mut jobs = 0;
    for _ in 0..3 {
        let before = lab.count("jobkit.finished").await;
        for (limit, keys) in [(1, 6), (2, 4), (3, 4)] {
            let all = (0..30 * limit).flat_map(|_| 0..keys);
            let act = Act::Sleep(Duration::from_millis(50));
            jobs += enqueue_keyed(&lab, limit, all, act).await.len();
        }
        // Well under way, and more than half is still to come.
        lab.until(&format!("count(*) >= {before} + 300 from jobkit.finished")).await;
        assert!(lab.count("jobkit.jobs").await > 0, "there was no load");
        with(&cluster, |cluster| cluster.stop(Mode::Immediate)).await;
        let before = [workers[0].counts().await.finished, workers[1].counts().await.finished];
        with(&cluster, |cluster| cluster.start()).await;
        let back = Instant::now();
        check(&lab).await;
        for (worker, before) in workers.iter_mut().zip(before) {
            recover(&lab, worker, before, back).await;
        }
        let seconds = back.elapsed().as_secs_f64();
        println!("both workers finished jobs {seconds:.1} s after the server was back");
    }
    all_done(&lab).await;
    watch.end().await;
    for worker in workers {
        worker.stop().await;
    }
    nobody_is_charged(&lab).await;
    let keyed = "jobkit.finished where concurrency_key is not null";
    assert_eq!(lab.count(keyed).await, i64::try_from(jobs).unwrap());
    uses(&lab).await;
    none_left(&lab).await;
}
