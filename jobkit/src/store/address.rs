//! The address of a database: which hosts it names, without connecting to any.

use sqlx::postgres::PgConnectOptions;

use crate::error::InvalidAddress;

/// Which of several hosts is wanted, from `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The one that accepts writes.
    Writes,
    /// Whichever answers.
    Any,
}

/// An address, taken apart.
pub(super) struct Address {
    /// How to connect to each of its hosts: one at least.
    pub(super) hosts: Vec<PgConnectOptions>,
    pub(super) wanted: Wanted,
}

impl Address {
    /// Reads `postgres://user@a:5432,b:5433/database?target_session_attrs=read-write`, as libpq
    /// does; and `?host=a,b&port=5432,5433`.
    pub(super) fn parse(url: &str) -> Result<Self, InvalidAddress> {
        let begin = ["postgres://", "postgresql://"].into_iter().find(|s| url.starts_with(s));
        let begin = begin.ok_or_else(|| refused("it does not begin with postgres://"))?;
        let rest = &url[begin.len()..];
        // Before parsing: sqlx supports one host, and takes a list for a part of its port.
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let at = authority.rfind('@').map_or(0, |at| at + 1);
        let (user, named) = authority.split_at(at);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters = Parameters::of(query)?;
        let hosts = parameters.hosts.take().map(list).transpose()?;
        let ports = parameters.ports.take().map(list).transpose()?.unwrap_or_default();
        let in_query = hosts.is_some();
        let hosts = hosts.map_or_else(|| list(named), Ok)?;
        if !matches!(ports.len(), 0 | 1) && ports.len() != hosts.len() {
            return Err(refused("it has a different number of ports than hosts"));
        }
        let one = |(n, host): (usize, &&str)| {
            let port = ports.get(n).or(ports.first());
            let port = port.map_or_else(String::new, |port| ["&port=", port].concat());
            // The parser requires a host after a user, even if a parameter replaces it.
            let (named, host) = match (in_query, user) {
                (false, _) => (*host, String::new()),
                (true, "") => (named, ["&host=", host].concat()),
                (true, _) => ("localhost", ["&host=", host].concat()),
            };
            parse(&[begin, user, named, path, "?", &parameters.rest, &host, &port].concat())
        };
        let hosts = hosts.iter().enumerate().map(one).collect::<Result<_, _>>()?;
        Ok(Self { hosts, wanted: parameters.wanted })
    }
}

/// What follows the question mark.
struct Parameters<'a> {
    wanted: Wanted,
    hosts: Option<&'a str>,
    ports: Option<&'a str>,
    /// All others, which are the same for each host.
    rest: String,
}

impl<'a> Parameters<'a> {
    fn of(query: &'a str) -> Result<Self, InvalidAddress> {
        let mut all =
            Self { wanted: Wanted::Writes, hosts: None, ports: None, rest: String::new() };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=').unwrap_or((parameter, "")) {
                ("host", hosts) => all.hosts = Some(hosts),
                ("port", ports) => all.ports = Some(ports),
                ("target_session_attrs", "read-write") => all.wanted = Wanted::Writes,
                ("target_session_attrs", "any") => all.wanted = Wanted::Any,
                ("target_session_attrs", _) => {
                    return Err(refused("target_session_attrs must be read-write or any"));
                }
                _ => all.rest.extend([parameter, "&"]),
            }
        }
        Ok(all)
    }
}

fn list(text: &str) -> Result<Vec<&str>, InvalidAddress> {
    let list: Vec<_> = text.split(',').collect();
    let gap = list.len() > 1 && list.contains(&"");
    if gap { Err(refused("one of its hosts or ports is empty")) } else { Ok(list) }
}

fn parse(url: &str) -> Result<PgConnectOptions, InvalidAddress> {
    let options: PgConnectOptions = url.parse().map_err(|error| match error {
        sqlx::Error::Configuration(source) => InvalidAddress(source.to_string()),
        error => InvalidAddress(error.to_string()),
    })?;
    // As with `PGHOST=a,b`. The whole would be looked up as one name.
    let several = options.get_host().contains(',');
    let text = "several hosts are in one name: write postgres://user@a,b/database";
    if several { Err(refused(text)) } else { Ok(options) }
}

fn refused(why: &str) -> InvalidAddress {
    InvalidAddress(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for (url, what) in [
            ("", "postgres://"),
            ("mysql://u:geheim@h/d", "postgres://"),
            ("postgres://u:geheim@h:port/d", "port"),
            ("postgres://u:geheim@h/d?sslmode=geheimer", "ssl_mode"),
            ("postgres://u:gehe/im@h/d", "port"),
            ("postgres://u:geheim@a:5432,b:port/d", "port"),
            ("postgres://u:geheim@a,,b/d", "empty"),
            ("postgres://u:geheim@a,b/d?port=1,2,3", "different number of ports"),
            ("postgres://u:geheim@/d?host=a%2Cb", "several hosts"),
            ("postgres://u:geheim@a,b/d?target_session_attrs=standby", "read-write or any"),
            ("postgres://u:geheim@a/d?target_session_attrs", "read-write or any"),
        ] {
            // Its text is all that such an error has to show.
            let Err(InvalidAddress(text)) = Address::parse(url) else { panic!("{url} is none") };
            assert!(text.contains(what), "{text}");
            assert!(!text.contains("geheim@") && !text.contains("gehe/im"), "{text}");
        }
        for url in ["postgresql:///d?host=/run/postgresql", "postgres://u:a,b@h/d,e"] {
            assert_eq!(Address::parse(url).ok().map(|address| address.hosts.len()), Some(1));
        }
    }

    #[test]
    fn each_host_has_its_port_and_all_have_the_rest() {
        let (writes, any) = (Wanted::Writes, Wanted::Any);
        for (url, hosts, wanted) in [
            ("postgres://u@a:1/d", "a:1", writes),
            ("postgres://u:p@a:1,b:2,[::1]:3/d", "a:1 b:2 [::1]:3", writes),
            ("postgres://u@a:1,b:2/d?target_session_attrs=any", "a:1 b:2", any),
            ("postgres://u@a,b/d?port=7&target_session_attrs=read-write", "a:7 b:7", writes),
            ("postgresql://u@/d?host=a,b&port=1,2", "a:1 b:2", writes),
            ("postgresql:///d?user=u&host=a,b&port=1,2", "a:1 b:2", writes),
        ] {
            let address = Address::parse(url).expect("an address");
            let one = |host: &PgConnectOptions| {
                [host.get_host(), ":", &host.get_port().to_string()].concat()
            };
            let found: Vec<_> = address.hosts.iter().map(one).collect();
            assert_eq!(found.join(" "), hosts, "{url}");
            assert_eq!(address.wanted, wanted, "{url}");
            for host in address.hosts {
                assert_eq!((host.get_username(), host.get_database()), ("u", Some("d")), "{url}");
            }
        }
    }

    #[test]
    fn other_parameters_reach_every_host() {
        let url = "postgres://u@a,b/d?application_name=shop&target_session_attrs=any";
        for host in Address::parse(url).expect("an address").hosts {
            assert_eq!(host.get_application_name(), Some("shop"));
        }
    }
}
