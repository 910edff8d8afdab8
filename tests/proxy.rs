use std::io;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the network between a worker and its database does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Everything passes.
    Passes,
    /// A black hole: connections are made, nothing passes in either direction.
    Stalls,
    /// Connections break, and new ones break at once.
    Breaks,
    /// New connections break at once; those that are open pass.
    Refuses,
    /// What clients send arrives, the answers are lost; when it is over the connections that have
    /// lost one break.
    Deafens,
    /// Connections that are open now pass nothing until it is over, and nobody is told; new ones
    /// pass.
    Forgets,
}

/// The states of an ambush, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Trap {
    Off,
    /// The next message of the connection with this name is held.
    Set(&'static str),
    /// It is held.
    Sprung,
    /// It goes on; its answer and all that follow are dropped.
    Released,
    /// The same, and the connection is cut.
    Cut,
}

/// What burns down while packets pass, in its states' order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fuse {
    Off,
    /// So many packets of connections made from now on pass.
    Lit(usize),
    /// The last of them is on its way, and nothing else passes.
    Last,
    /// It has passed.
    Blown,
}

/// A TCP proxy in front of a PostgreSQL server, whose network a test can spoil.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    network: watch::Sender<Network>,
    trap: watch::Sender<Trap>,
    fuse: watch::Sender<Fuse>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// A proxy for the database at this address.
    pub async fn new(url: &str) -> io::Result<Self> {
        let options: PgConnectOptions = url.parse().map_err(io::Error::other)?;
        let upstream = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (network, trap) = (watch::Sender::new(Network::Passes), watch::Sender::new(Trap::Off));
        let fuse = watch::Sender::new(Fuse::Off);
        let wires = Wires { network: network.clone(), trap: trap.clone(), fuse: fuse.clone() };
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(wires.clone().carry(client, upstream.clone()));
            }
        });
        let url = options.host("127.0.0.1").port(port).to_url_lossy().to_string();
        Ok(Self { url, network, trap, fuse, accepting })
    }

    /// The address of the database through the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes the network for all connections, those that are open included.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Waits for the next message of the connection with this application name, and holds it.
    pub async fn ambush(&self, name: &'static str) -> Held<'_> {
        self.trap.send_replace(Trap::Set(name));
        let mut trap = self.trap.subscribe();
        let sprung = trap.wait_for(|trap| *trap == Trap::Sprung).await;
        sprung.expect("the proxy holds the sender");
        Held { proxy: self }
    }

    /// Lets so many packets pass of the connections that are made from now on, in both directions
    /// together; after the last one nothing passes any more, of any connection.
    pub fn light_fuse(&self, packets: usize) {
        self.fuse.send_replace(Fuse::Lit(packets));
    }

    /// Whether packets may still pass, or no fuse was lit.
    pub fn is_open(&self) -> bool {
        matches!(*self.fuse.borrow(), Fuse::Off | Fuse::Lit(_))
    }

    /// Waits until the last packet has passed.
    pub async fn blown(&self) {
        let mut fuse = self.fuse.subscribe();
        drop(fuse.wait_for(|fuse| *fuse == Fuse::Blown).await);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Network::Breaks);
    }
}

/// A message that is being held by a [`Proxy`].
#[derive(Debug)]
#[must_use = "the message is held until it is released"]
pub struct Held<'a> {
    proxy: &'a Proxy,
}

impl Held<'_> {
    /// Lets the message reach the server; nothing comes back on its connection any more.
    pub fn release(&self) {
        self.proxy.trap.send_replace(Trap::Released);
    }

    /// Cuts the connection of the message.
    pub fn cut(self) {
        self.proxy.trap.send_replace(Trap::Cut);
    }
}

/// What all connections of a proxy share.
#[derive(Debug, Clone)]
struct Wires {
    network: watch::Sender<Network>,
    trap: watch::Sender<Trap>,
    fuse: watch::Sender<Fuse>,
}

/// What a connection of a proxy is subject to.
struct Line {
    caught: watch::Sender<bool>,
    /// Whether its packets burn the fuse.
    burns: bool,
    /// Whether it was made while others are forgotten.
    fresh: bool,
}

impl Wires {
    async fn carry(self, client: TcpStream, upstream: (String, u16)) {
        let mut network = self.network.subscribe();
        let now = *network.borrow();
        if now == Network::Refuses {
            return;
        }
        let fresh = now == Network::Forgets;
        let carried = async {
            self.pass(fresh).await;
            let server = TcpStream::connect(upstream).await?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            let (client_reads, client_writes) = client.into_split();
            let (server_reads, server_writes) = server.into_split();
            let burns = *self.fuse.borrow() != Fuse::Off;
            let line = Line { caught: watch::Sender::new(false), burns, fresh };
            tokio::select! {
                done = self.forth(client_reads, server_writes, &line) => done,
                done = self.back(server_reads, client_writes, &line) => done,
                () = self.cut(&line.caught) => Ok(()),
            }
        };
        // Either way both connections are closed here.
        tokio::select! {
            _ended = carried => {}
            _broken = network.wait_for(|network| *network == Network::Breaks) => {}
        }
    }

    /// From the client to the server.
    async fn forth(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        line: &Line,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        // What names the connection comes early, perhaps in pieces.
        let mut early = Vec::new();
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            if let Trap::Set(name) = *self.trap.borrow()
                && contains(&early, name)
            {
                line.caught.send_replace(true);
            }
            if early.len() < 4096 {
                early.extend_from_slice(&buffer[..read]);
            }
            if *line.caught.borrow() {
                self.hold().await;
            }
            self.send(&buffer[..read], &mut to, line).await?;
        }
    }

    /// From the server to the client.
    async fn back(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        line: &Line,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            if *self.network.borrow() == Network::Deafens {
                let mut network = self.network.subscribe();
                let _over = network.wait_for(|network| *network != Network::Deafens).await;
                return Ok(());
            }
            if *line.caught.borrow() {
                self.pass(line.fresh).await;
            } else {
                self.send(&buffer[..read], &mut to, line).await?;
            }
        }
    }

    /// Sends a packet on, if the network and the fuse let it pass.
    async fn send(&self, packet: &[u8], to: &mut OwnedWriteHalf, line: &Line) -> io::Result<()> {
        self.pass(line.fresh).await;
        let (mut last, mut burnt) = (false, false);
        self.fuse.send_if_modified(|fuse| {
            match fuse {
                Fuse::Lit(1) if line.burns => (*fuse, last) = (Fuse::Last, true),
                Fuse::Lit(left) if line.burns => *left -= 1,
                Fuse::Off | Fuse::Lit(_) => {}
                Fuse::Last | Fuse::Blown => burnt = true,
            }
            last
        });
        if burnt {
            return std::future::pending().await;
        }
        to.write_all(packet).await?;
        if last {
            self.fuse.send_replace(Fuse::Blown);
        }
        Ok(())
    }

    /// Waits while the network stalls, or has forgotten this connection, or until it is closed:
    /// nothing that is sent after the network broke gets through before that.
    async fn pass(&self, fresh: bool) {
        let mut network = self.network.subscribe();
        let passes = |network: &Network| match network {
            Network::Stalls | Network::Breaks => false,
            Network::Forgets => fresh,
            _ => true,
        };
        let _passes = network.wait_for(passes).await;
    }

    /// Holds a message until the test releases it.
    async fn hold(&self) {
        self.trap.send_if_modified(|trap| {
            let set = matches!(trap, Trap::Set(_));
            if set {
                *trap = Trap::Sprung;
            }
            set
        });
        let mut trap = self.trap.subscribe();
        let _released = trap.wait_for(|trap| *trap != Trap::Sprung).await;
    }

    /// Completes when the connection that was caught is to be cut.
    async fn cut(&self, caught: &watch::Sender<bool>) {
        let (mut caught, mut trap) = (caught.subscribe(), self.trap.subscribe());
        drop(caught.wait_for(|caught| *caught).await);
        drop(trap.wait_for(|trap| *trap == Trap::Cut).await);
    }
}

fn contains(text: &[u8], name: &str) -> bool {
    text.windows(name.len()).any(|part| part == name.as_bytes())
}
