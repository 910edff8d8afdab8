//! Workers whose network fails: an answer lost, or everything.

use std::time::{Duration, Instant};

use jobkit_tests::{Network, Proxy, wait};

use crate::jobs::Act;
use crate::outage::{both_may_reap, nobody_is_charged, recover};
use crate::process::{Counts, Process};
use crate::program::Program;
use crate::stage::{PATIENCE, all_done, clock, enqueue, lab, light_turn, traces};

/// A lease long enough for several calls that fail by their deadline of 1 s.
fn patient(url: &str, proxy: &Proxy) -> Program {
    Program {
        url: proxy.url().to_owned(),
        lease: Some(Duration::from_secs(10)),
        call_deadline: Some(Duration::from_secs(1)),
        listen: false,
        few_connections: Some(false),
        ..Program::quick(url)
    }
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_given_back_uncharged() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    let mut worker = Process::start(&patient(lab.url(), &proxy)).await;
    // From here on its claims are prepared: one message each, and nothing else on the connection.
    enqueue(&lab, 1, Act::Tally).await;
    all_done(&lab).await;
    for cut in [false, true] {
        let held = proxy.ambush("jobkit claim").await;
        enqueue(&lab, 5, Act::Sleep(Duration::from_millis(100))).await;
        let released_at = clock(&lab).await;
        held.release();
        lab.until("(select sum(cardinality(job_ids)) from jobkit.claims) = 5").await;
        if cut {
            held.cut();
        }
        all_done(&lab).await;
        let first = format!(
            "select extract(epoch from max(at))::float8 - {released_at}
            from effects where what = 'begin'"
        );
        let seconds: f64 = lab.value(&first).await;
        println!("cut {cut}: the last of the jobs began {seconds:.2} s after its claim");
        assert!(seconds < 10.0, "given back within a lease");
    }
    assert_eq!(lab.count("jobkit.finished where attempt = 1 and errors is null").await, 11);
    assert_eq!(lab.count("effects where what = 'begin'").await, 10);
    let counts = worker.counted("it has its answers", |counts| counts.finished == 11).await;
    assert_eq!((counts.unanswered, counts.lost), (10, 0));
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_worker_that_is_cut_off_cancels_its_handlers_before_others_start_them() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    // Of a longer lease there is more left when its own worker gives it up.
    let program = Program { lease: Some(Duration::from_secs(6)), ..Program::quick(lab.url()) };
    let far = Program { url: proxy.url().to_owned(), ..program.clone() };
    let mut far = Process::start(&far).await;
    let old = far.counts().await.workers;
    enqueue(&lab, 10, Act::WaitOnce).await;
    traces(&lab, 10, "what = 'begin'").await;
    let near = Process::start(&program).await;
    proxy.set(Network::Stalls);
    traces(&lab, 10, "what = 'begin' and attempt = 2").await;
    let all_say_so = async || far.events("cancelled").len() == 10;
    wait(PATIENCE, "ten say that they were cancelled", all_say_so).await;
    let cancelled = far.events("cancelled");
    for trace in cancelled {
        let job = &trace["job"];
        let begin = format!(
            "select extract(epoch from at)::float8 from effects
            where job_id = {job} and what = 'begin' and attempt = 2"
        );
        let head_start = lab.value::<f64>(&begin).await - trace["at"].as_f64().unwrap();
        assert!(head_start > 0.0, "job {job} ran twice at once for {:.3} s", -head_start);
    }
    all_done(&lab).await;
    near.stop().await;

    proxy.set(Network::Passes);
    let back = Instant::now();
    enqueue(&lab, 3, Act::Sleep(Duration::ZERO)).await;
    all_done(&lab).await;
    println!("it worked again {:.1} s after the network did", back.elapsed().as_secs_f64());
    assert!(back.elapsed() < Duration::from_secs(15));
    let begun_anew = |counts: &Counts| counts.lost == 10 && counts.workers != old;
    far.counted("it has a new id", begun_anew).await;
    far.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_network_that_fails_everybody_charges_nobody() {
    let _turn = light_turn().await;
    for network in [Network::Stalls, Network::Breaks] {
        let lab = lab().await;
        let proxy = Proxy::new(lab.url()).await.unwrap();
        let program = Program { url: proxy.url().to_owned(), ..Program::quick(lab.url()) };
        let mut workers = [Process::start(&program).await, Process::start(&program).await];
        both_may_reap(&lab).await;
        enqueue(&lab, 60, Act::Sleep(Duration::from_secs(1))).await;
        traces(&lab, 20, "what = 'begin'").await;
        proxy.set(network);
        tokio::time::sleep(Duration::from_secs(6)).await;
        let before = [workers[0].counts().await.finished, workers[1].counts().await.finished];
        proxy.set(Network::Passes);
        let back = Instant::now();
        for (worker, before) in workers.iter_mut().zip(before) {
            recover(&lab, worker, before, back).await;
        }
        let seconds = back.elapsed().as_secs_f64();
        println!("{network:?}: both workers finished jobs {seconds:.1} s after it was over");
        all_done(&lab).await;
        nobody_is_charged(&lab).await;
        for worker in workers {
            worker.stop().await;
        }
        lab.check_invariants().await;
    }
}
