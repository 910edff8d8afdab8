use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use jobkit::Enqueue;
use shop::jobs::ImportStock;
use shop::partners::Partners;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::stage::{ask, open};

/// Starts a binary, and returns it with the first line it prints.
async fn start(program: &str, url: &str) -> anyhow::Result<(Child, String)> {
    let mut command = Command::new(program);
    command.env("DATABASE_URL", url).env("LISTEN", "127.0.0.1:0").env("RUST_LOG", "warn");
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let line = lines.next_line().await?.context("it ended at once")?;
    Ok((child, line))
}

/// Stops a process as a container is stopped.
async fn stop(child: &mut Child) -> anyhow::Result<()> {
    let pid = child.id().context("it runs")?.to_string();
    Command::new("kill").args(["-TERM", &pid]).status().await?;
    let ended = tokio::time::timeout(Duration::from_secs(10), child.wait()).await;
    anyhow::ensure!(ended.context("it would be killed now")??.success(), "it failed");
    Ok(())
}

#[tokio::test]
async fn both_end_in_time_with_a_page_open_and_a_job_under_way() -> anyhow::Result<()> {
    let (lab, shop) = open(Partners::default()).await?;
    lab.run("insert into sessions values ('o', 'Oz', 'owner')").await;
    let import = lab.value("insert into imports default values returning id").await;
    ImportStock { import }.enqueue(&shop.pool).await?;

    let (mut web, said) = start(env!("CARGO_BIN_EXE_shop-web"), lab.url()).await?;
    let server: SocketAddr = said.trim_start_matches("http://").parse()?;
    let mut tab = ask(server, ("GET /jobs/events", "o", "")).await?;
    let mut status = [0; 12];
    tab.read_exact(&mut status).await?;
    assert_eq!(&status, b"HTTP/1.1 200");
    let (mut worker, _) = start(env!("CARGO_BIN_EXE_shop-worker"), lab.url()).await?;
    lab.until("(select next_page from imports) > 0").await;

    tokio::try_join!(stop(&mut web), stop(&mut worker))?;
    let mut rest = Vec::new();
    tab.read_to_end(&mut rest).await?;
    assert!(rest.ends_with(b"0\r\n\r\n"), "the stream has an end");
    assert_eq!(lab.count("jobkit.jobs where attempt > 0 or crashes > 0").await, 0);
    assert_eq!(lab.count("jobkit.jobs where kind = 'import_stock'").await, 1);
    assert_eq!(lab.count("jobkit.workers").await, 0);
    Ok(())
}
