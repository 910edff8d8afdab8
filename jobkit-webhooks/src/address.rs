//! The addresses that requests may go to: public ones, and those that the application allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 networks that are not public, by IANA's list of special addresses.
const SPECIAL_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    // Azure's services for the host: the address looks public, but is not.
    v4([168, 63, 129, 16], 32),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// The public part of IPv6, with the exceptions below.
const UNICAST_V6: Ipv6Net = v6(0x2000, 0, 3);

/// Tunnels, which may carry any IPv4 address, and addresses for documentation.
const SPECIAL_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 23), v6(0x2001, 0x0db8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 20)];

/// The prefix by which a network without IPv4 reaches IPv4: the last four bytes are the address.
const NAT64: Ipv6Net = v6(0x0064, 0xff9b, 96);

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, second: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

/// Whether the address is public.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) if NAT64.contains(&address) => {
            let [.., a, b, c, d] = address.octets();
            is_public(Ipv4Addr::new(a, b, c, d).into())
        }
        IpAddr::V6(address) => {
            UNICAST_V6.contains(&address) && !SPECIAL_V6.iter().any(|net| net.contains(&address))
        }
    }
}

/// The networks that the application allows in addition to the public ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed(pub(crate) Vec<IpNet>);

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a network that the application allows.
    Ours,
    Public,
    Forbidden,
}

impl Allowed {
    pub(crate) fn place(&self, address: IpAddr) -> Place {
        // `::ffff:127.0.0.1` is 127.0.0.1.
        let address = address.to_canonical();
        if self.0.iter().any(|net| net.contains(&address)) {
            Place::Ours
        } else if is_public(address) {
            Place::Public
        } else {
            Place::Forbidden
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: &str) -> Place {
        Allowed::default().place(address.parse().unwrap())
    }

    #[test]
    fn what_is_public_may_be_reached() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "168.63.129.15",
            "172.15.255.255",
            "172.32.0.0",
            "198.17.255.255",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:801::200e",
            "64:ff9b::1.1.1.1",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(place(address), Place::Public, "{address}");
        }
    }

    #[test]
    fn what_is_not_public_is_refused_however_it_is_written() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert_eq!(place(address), Place::Forbidden, "{address}");
        }
    }

    #[test]
    fn an_allowed_network_is_ours_and_nothing_beside_it() {
        let nets = ["10.1.0.0/16", "fd00::/8"].map(|net| net.parse().unwrap());
        let allowed = Allowed(nets.to_vec());
        let place = |address: &str| allowed.place(address.parse().unwrap());
        for address in ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"] {
            assert_eq!(place(address), Place::Ours, "{address}");
        }
        assert_eq!(place("10.2.0.1"), Place::Forbidden);
        assert_eq!(place("8.8.8.8"), Place::Public);
    }
}
