use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;

/// Ports below the range from which systems number outgoing connections (32768 on Linux, 49152
/// on macOS). A client that retries while its server is down could otherwise be given the server's
/// own port, connect to itself, and keep the server from coming back.
const FIRST: u64 = 17_000;
const COUNT: u64 = 15_000;

/// A free port on 127.0.0.1: the same for the same folder and attempt, as long as it is free.
pub(crate) fn free(folder: &Path, attempt: u32) -> Option<u16> {
    let start = hash(folder).wrapping_add(u64::from(attempt));
    (0..COUNT)
        .filter_map(|step| u16::try_from(FIRST + start.wrapping_add(step) % COUNT).ok())
        .find(|port| TcpListener::bind(address(*port)).is_ok())
}

pub(crate) fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

/// FNV-1a: unlike the standard library's hash the same with every compiler.
pub(crate) fn hash(path: &Path) -> u64 {
    path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
