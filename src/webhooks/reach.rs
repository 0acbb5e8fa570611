//! Which addresses a webhook may go to: whoever writes the settings names a host, whoever answers for its name chooses the
//! address.
//!
//! A host is resolved once, its addresses are judged here, and the connection goes to those and no other. To forbid one
//! more network: a line in [`NEVER`] or [`PRIVATE`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Networks as address and length of the prefix.
type Network<A> = (A, u32);

/// Nothing that takes webhooks: this host, link-local, metadata of clouds, documentation, multicast, reserved.
const NEVER: [Network<Ipv4Addr>; 12] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 100, 100, 200), 32),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// One's own machine and network.
const PRIVATE: [Network<Ipv4Addr>; 5] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
];

/// All that is routed on the internet; the rest of IPv6 is not, whatever it is for.
const GLOBAL: Network<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Exceptions within it: tunnels that hide an IPv4 address, and documentation.
const NOT_GLOBAL: [Network<Ipv6Addr>; 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const UNIQUE_LOCAL: Network<Ipv6Addr> = (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// Where a cloud gives out the credentials of its machines, within the unique local addresses.
const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// How far an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// On the internet.
    Public,
    /// One's own machine or network; the settings must allow it.
    Private,
    /// Never.
    Never,
}

/// The furthest that the addresses of a host go; `Never` for a host without one.
pub(super) fn reach_of(addresses: &[SocketAddr]) -> Reach {
    addresses.iter().map(|address| reach(address.ip())).max().unwrap_or(Reach::Never)
}

fn reach(address: IpAddr) -> Reach {
    // `::ffff:127.0.0.1` is 127.0.0.1.
    match address.to_canonical() {
        IpAddr::V4(address) if NEVER.iter().any(|network| within_v4(address, *network)) => Reach::Never,
        IpAddr::V4(address) if PRIVATE.iter().any(|network| within_v4(address, *network)) => Reach::Private,
        IpAddr::V4(_) => Reach::Public,
        IpAddr::V6(METADATA) => Reach::Never,
        IpAddr::V6(address) if address.is_loopback() || within_v6(address, UNIQUE_LOCAL) => Reach::Private,
        IpAddr::V6(address) => {
            let global = within_v6(address, GLOBAL) && !NOT_GLOBAL.iter().any(|network| within_v6(address, *network));
            if global { Reach::Public } else { Reach::Never }
        }
    }
}

fn within_v4(address: Ipv4Addr, (network, prefix): Network<Ipv4Addr>) -> bool {
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or_default();
    address.to_bits() & mask == network.to_bits()
}

fn within_v6(address: Ipv6Addr, (network, prefix): Network<Ipv6Addr>) -> bool {
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or_default();
    address.to_bits() & mask == network.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_as_far_as_it_is() {
        for (address, expected) in [
            ("93.184.216.34", Reach::Public),
            ("11.0.0.1", Reach::Public),
            ("172.15.255.255", Reach::Public),
            ("172.32.0.0", Reach::Public),
            ("2606:2800:220:1:248:1893:25c8:1946", Reach::Public),
            ("::ffff:93.184.216.34", Reach::Public),
            ("127.0.0.1", Reach::Private),
            ("127.255.255.254", Reach::Private),
            ("10.1.2.3", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("192.168.0.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("::1", Reach::Private),
            ("::ffff:127.0.0.1", Reach::Private),
            ("fd12:3456::1", Reach::Private),
            ("0.0.0.0", Reach::Never),
            ("169.254.169.254", Reach::Never),
            ("::ffff:169.254.169.254", Reach::Never),
            ("100.100.100.200", Reach::Never),
            ("168.63.129.16", Reach::Never),
            ("fd00:ec2::254", Reach::Never),
            ("192.0.2.7", Reach::Never),
            ("224.0.0.1", Reach::Never),
            ("255.255.255.255", Reach::Never),
            ("::", Reach::Never),
            ("fe80::1", Reach::Never),
            ("ff02::1", Reach::Never),
            ("64:ff9b::7f00:1", Reach::Never),
            ("2002:7f00:1::", Reach::Never),
            ("2001:0:1::", Reach::Never),
        ] {
            assert_eq!(reach(address.parse().expect("an address")), expected, "{address}");
        }
    }

    #[test]
    fn one_bad_address_of_a_host_is_enough() {
        let at = |address: &str| SocketAddr::new(address.parse().expect("an address"), 443);
        assert_eq!(reach_of(&[at("93.184.216.34")]), Reach::Public);
        assert_eq!(reach_of(&[at("93.184.216.34"), at("10.0.0.1")]), Reach::Private);
        assert_eq!(reach_of(&[at("10.0.0.1"), at("169.254.169.254")]), Reach::Never);
        assert_eq!(reach_of(&[]), Reach::Never);
    }
}
