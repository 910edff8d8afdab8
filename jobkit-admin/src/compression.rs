//! Compression of answers, for clients that accept it.

use std::io::Write;

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The smallest body worth compressing.
const LEAST: u64 = 1024;

/// Whether gzip is accepted (RFC 9110, 12.5.3) and no other coding is preferred.
pub(crate) fn is_taken(headers: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut plain) = (None, None, None);
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    for item in lines.flat_map(|line| line.split(',')) {
        let (coding, weight) = item.split_once(';').unwrap_or((item, ""));
        let coding = coding.trim().to_ascii_lowercase();
        let slot = match &*coding {
            "gzip" | "x-gzip" => &mut gzip,
            "*" => &mut any,
            "identity" => &mut plain,
            _ => continue,
        };
        *slot = Some(quality(weight));
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && plain.is_none_or(|plain| gzip >= plain)
}

/// Parses `q=0.5`; the default is 1.
fn quality(weight: &str) -> f32 {
    let weight = weight.trim();
    match weight.strip_prefix("q=").or_else(|| weight.strip_prefix("Q=")) {
        Some(number) => number.trim().parse().unwrap_or(0.0),
        None => 1.0,
    }
}

/// Whether an answer may be compressed: not if another site made the browser send the request.
/// Pages echo parts of their URL next to secrets, so the compressed length would reveal the secrets
/// to an attacker who chooses the URL.
pub(crate) fn may_be(headers: &HeaderMap) -> bool {
    let from = headers.get("sec-fetch-site");
    is_taken(headers) && from.is_none_or(|from| from == "same-origin" || from == "none")
}

/// The answer, compressed if that is worth it. Streams, whose length is unknown, are not.
pub(crate) async fn compress(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let large = body.size_hint().exact().is_some_and(|size| size >= LEAST);
    if !large || parts.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(parts, body);
    }
    let whole = to_bytes(body, usize::MAX).await.map_err(std::io::Error::other);
    let Ok(gzip) = whole.and_then(|bytes| gzip(&bytes, Compression::fast())) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(gzip))
}

pub(crate) fn gzip(bytes: &[u8], level: Compression) -> std::io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), level);
    gzip.write_all(bytes)?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(lines: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        is_taken(&headers)
    }

    #[test]
    fn gzip_is_taken_as_the_header_says() {
        for line in [
            "gzip",
            "GZip",
            "x-gzip",
            "br, gzip;q=0.1",
            "*",
            "deflate, *;q=0.5",
            "gzip; q=1.000",
            "gzip, identity;q=0",
            "gzip;q=0.5, identity;q=0.5",
            "identity;q=0.5, gzip;q=1.0, *;q=0",
        ] {
            assert!(takes(&[line]), "{line}");
        }
        for line in [
            "",
            "br",
            "identity",
            "gzip;q=0",
            "gzip;q=0.000",
            "gzip;Q=0",
            "*;q=0",
            "gzip;q=0, *",
            "identity, gzip;q=0.5",
            "gzip;q=no",
            "gzippy",
        ] {
            assert!(!takes(&[line]), "{line}");
        }
        assert!(!takes(&[]));
        assert!(takes(&["br", "gzip"]), "two lines are one list");
    }
}
