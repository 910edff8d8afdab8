//! Slows down password guessing: after wrong passwords a peer must wait, longer each time it fails.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How many wrong passwords are free before a peer has to wait: people mistype.
const FREE: u32 = 5;
/// The first and the longest wait of a peer; each further wrong password doubles the wait.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);
/// After this many wrong passwords in a minute, from all peers together, everyone waits this long:
/// an attacker may have many addresses.
const FREE_IN_TOTAL: u32 = 100;
const IN_TOTAL: Duration = Duration::from_millis(50);
/// Older wrong passwords are forgotten.
const MEMORY: Duration = Duration::from_secs(60);
/// Peers that are remembered. A new one replaces the one whose last wrong password is oldest.
const PEERS: usize = 1000;

/// Consecutive wrong passwords.
#[derive(Debug, Clone, Copy)]
struct Wrong {
    number: u32,
    first: Instant,
    last: Instant,
    wait: Duration,
}

/// Peers that gave wrong passwords lately.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    peers: HashMap<IpAddr, Wrong>,
    total: Option<Wrong>,
}

impl Guesses {
    /// Checks a password, or says how long this peer must wait first. Concurrent checks take turns.
    pub(super) fn look<T>(
        &self,
        peer: IpAddr,
        now: Instant,
        look: impl FnOnce() -> Option<T>,
    ) -> Result<Option<T>, Duration> {
        let peer = neighbourhood(peer);
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.forget(now);
        let all = [known.peers.get(&peer).copied(), known.total];
        let left = all.into_iter().flatten().map(|wrong| wrong.left(now)).max();
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            return Err(left);
        }
        let found = look();
        match found {
            Some(_) => drop(known.peers.remove(&peer)),
            None => known.note(peer, now),
        }
        Ok(found)
    }
}

impl Known {
    fn forget(&mut self, now: Instant) {
        self.total = self.total.filter(|wrong| now.duration_since(wrong.first) < MEMORY);
        self.peers.retain(|_, wrong| now.duration_since(wrong.last) < MEMORY);
    }

    fn note(&mut self, peer: IpAddr, now: Instant) {
        let number = |wrong: Option<&Wrong>| wrong.map_or(0, |wrong| wrong.number) + 1;
        let in_total = number(self.total.as_ref());
        let wait = if in_total > FREE_IN_TOTAL { IN_TOTAL } else { Duration::ZERO };
        let first = self.total.map_or(now, |wrong| wrong.first);
        self.total = Some(Wrong { number: in_total, first, last: now, wait });
        let of_peer = number(self.peers.get(&peer));
        let wait = match of_peer.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(doubled) => FIRST.saturating_mul(1 << doubled.min(8)).min(LONGEST),
        };
        let oldest = self.peers.iter().min_by_key(|(_, wrong)| wrong.last).map(|(peer, _)| *peer);
        if self.peers.len() >= PEERS && !self.peers.contains_key(&peer) {
            oldest.map(|oldest| self.peers.remove(&oldest));
        }
        self.peers.insert(peer, Wrong { number: of_peer, first: now, last: now, wait });
    }
}

impl Wrong {
    fn left(&self, now: Instant) -> Duration {
        (self.last + self.wait).saturating_duration_since(now)
    }
}

/// An attacker with one IPv6 address controls all 2^64 of its network.
fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MALLORY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const ALICE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// How many passwords are checked if these peers send one each millisecond.
    fn looked_at(guesses: &Guesses, now: Instant, peers: impl Iterator<Item = IpAddr>) -> usize {
        let at = |n: usize| now + Duration::from_millis(n as u64);
        let wrong = |(n, peer)| guesses.look::<()>(peer, at(n), || None);
        peers.enumerate().map(wrong).filter(|looked| looked.is_ok()).count()
    }

    #[test]
    fn who_guesses_waits_longer_each_time_and_others_do_not() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let ten_minutes = std::iter::repeat_n(MALLORY, 600_000);
        let looked = looked_at(&guesses, now, ten_minutes);
        assert!((125..135).contains(&looked), "{looked}");
        let end = now + Duration::from_secs(600);
        assert_eq!(guesses.look(ALICE, end, || Some(1)), Ok(Some(1)));
        let wait = guesses.look(MALLORY, end, || Some(1)).expect_err("it has to wait");
        assert!(wait <= LONGEST, "{wait:?}");
        assert_eq!(guesses.look(MALLORY, end + wait, || Some(1)), Ok(Some(1)), "not for long");
        assert_eq!(guesses.look::<()>(MALLORY, end + wait, || None), Ok(None), "forgiven");
        assert_eq!(guesses.look(MALLORY, end + wait, || Some(1)), Ok(Some(1)));
    }

    #[test]
    fn who_mistypes_does_not_wait() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(guesses.look::<()>(ALICE, now, || None), Ok(None));
        }
        assert_eq!(guesses.look(ALICE, now, || Some(1)), Ok(Some(1)));
    }

    #[test]
    fn many_addresses_do_not_help_and_take_no_more_memory() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let address = |n: u128| IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) + n));
        let street = (0..60_000).map(|n| address(n << 64));
        let looked = looked_at(&guesses, now, street);
        assert!((1200..1400).contains(&looked), "{looked}");
        let known = guesses.0.lock().expect("nobody panicked");
        assert!(known.peers.len() <= PEERS, "{}", known.peers.len());
        drop(known);
        let end = now + Duration::from_secs(60) + IN_TOTAL;
        assert_eq!(guesses.look(ALICE, end, || Some(1)), Ok(Some(1)), "not for long");
        let (guesses, house) = (Guesses::default(), (0..1000).map(address));
        assert!(looked_at(&guesses, now, house) < 10, "one house is one peer");
    }
}
