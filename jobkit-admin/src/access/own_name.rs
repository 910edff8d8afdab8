//! The host name of a request. Another site could make its own name resolve to this machine (DNS
//! rebinding); a browser would then treat its pages as ours, with the rights of the visitor.

use std::net::IpAddr;

use axum::http::header::HOST;
use axum::http::request::Parts;

/// Whether a request names a host, in its target or its header, and all hosts it names are
/// loopback.
pub(crate) fn is_called_by_own_name(request: &Parts) -> bool {
    let headers = request.headers.get_all(HOST).iter();
    let headers = headers.map(|host| host.to_str().unwrap_or_default());
    let authority = request.uri.authority().map(|authority| authority.as_str());
    let mut names = authority.into_iter().chain(headers).peekable();
    names.peek().is_some() && names.all(is_own_name)
}

fn is_own_name(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name =
        host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let address = bracketed.unwrap_or(name).parse::<IpAddr>().ok();
    let address = address.filter(|address| address.is_ipv6() == bracketed.is_some());
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        for host in ["localhost", "LocalHost:7171", "127.0.0.1", "127.0.0.2:80", "[::1]:1", "[::1]"]
        {
            assert!(is_own_name(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "example.org:7171",
            "127.0.0.1.example.org",
            "10.0.0.1:1",
            "[[127.0.0.1]]",
            "[127.0.0.1]",
            "[[::1]]",
            "[::1",
            "::1",
            "[localhost]",
            "a@127.0.0.1",
            "localhost:80:80",
            "localhost.",
        ] {
            assert!(!is_own_name(host), "{host}");
        }
    }

    #[test]
    fn each_name_in_a_request_has_to_be_one() {
        let called = |uri: &str, hosts: &[&str]| {
            let request = Request::builder().uri(uri);
            let request = hosts.iter().fold(request, |request, host| request.header(HOST, *host));
            is_called_by_own_name(&request.body(()).expect("a request").into_parts().0)
        };
        assert!(called("/", &["localhost"]));
        assert!(called("http://localhost/", &[]));
        assert!(called("http://localhost:1/", &["127.0.0.1:1"]));
        assert!(!called("/", &[]));
        assert!(!called("http://evil.test/", &["localhost"]));
        assert!(!called("http://localhost/", &["evil.test"]));
        assert!(!called("/", &["localhost", "evil.test"]));
        assert!(!called("http://localhost@evil.test/", &["localhost"]));
    }
}
