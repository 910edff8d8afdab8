//! A database of which there is only the address.

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::Error;

/// Of a pool that nobody else has made.
const CONNECTIONS: u32 = 16;

/// A pool for this address. Workers and operators take nothing but its options, so it opens no
/// connection unless somebody enqueues with it: there is nothing to look after in the background,
/// either.
pub(crate) fn pool_at(url: &str) -> Result<PgPool, Error> {
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
    let pool = pool.idle_timeout(None).max_lifetime(None);
    Ok(pool.connect_lazy_with(address(url)?))
}

fn address(url: &str) -> Result<PgConnectOptions, Error> {
    let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    let rest = rest.ok_or_else(|| Error::Address("it does not begin with postgres://".into()))?;
    let several =
        || Error::Address("it names several hosts: give the one that takes writes".into());
    // Before it is parsed: what is wrong with `a:5432,b:5432` is not the port.
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    if hosts.contains(',') {
        return Err(several());
    }
    let options: PgConnectOptions = url.parse().map_err(|error| match error {
        sqlx::Error::Configuration(source) => Error::Address(source.to_string()),
        error => Error::Address(error.to_string()),
    })?;
    // As `?host=a,b` gives them. The whole would be looked up as one name.
    if options.get_host().contains(',') { Err(several()) } else { Ok(options) }
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
            ("postgres://u:geheim@a:5432,b:5432/d", "several hosts"),
            ("postgres://a,b", "several hosts"),
            ("postgresql:///d?host=a,b", "several hosts"),
        ] {
            // Its text is all that such an error has to show.
            let Err(Error::Address(text)) = address(url) else { panic!("{url} is none") };
            assert!(text.contains(what), "{text}");
            assert!(!text.contains("geheim@") && !text.contains("gehe/im"), "{text}");
        }
        for url in ["postgresql:///d?host=/run/postgresql", "postgres://u:a,b@h/d,e"] {
            assert!(address(url).is_ok(), "{url}");
        }
    }
}
