//! Scripts, styles, and the headers of every answer.

use std::io::Read;

use axum::http::StatusCode;
use flate2::read::GzDecoder;
use jobkit_admin::{Permissions, routes};
use sha2::{Digest, Sha256};

use crate::crawler::urls;
use crate::site::{ask, dashboard, filled, get};
use crate::world;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

#[tokio::test]
async fn every_answer_has_the_headers() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let paths = routes().map(|route| (route.method, filled(route.path, "1")));
    let others = [("GET", "/no/such".to_owned()), ("PUT", "/queues".to_owned())];
    for (method, path) in paths.chain(others) {
        for site in ["same-origin", "cross-site"] {
            let reply = ask(&app, method, &path, &[("sec-fetch-site", site)], "").await;
            assert_eq!(reply.header("content-security-policy"), POLICY, "{method} {path}");
            assert_eq!(reply.header("x-content-type-options"), "nosniff");
            assert_eq!(reply.header("x-frame-options"), "DENY");
            assert_eq!(reply.header("referrer-policy"), "same-origin");
            assert_eq!(reply.header("cross-origin-opener-policy"), "same-origin");
            assert_eq!(reply.header("cross-origin-resource-policy"), "same-origin");
            let kept = reply.header("cache-control");
            assert!(kept.contains("no-store") || kept.contains("no-cache"), "{path}: {kept}");
        }
    }
}

#[tokio::test]
async fn files_are_kept_for_ever_under_the_hash_of_what_is_in_them() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::none());
    let page = get(&dashboard(&lab, Permissions::viewer()), "/").await.body;
    let mut bytes = page.len();
    let mut files = 0;
    for (_, url) in urls(&page).into_iter().filter(|(_, url)| url.contains("/assets/")) {
        let request = axum::http::Request::get(&url).header("accept-encoding", "gzip");
        let request = request.body(axum::body::Body::empty()).unwrap();
        let reply = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
        assert_eq!(reply.status(), StatusCode::OK, "{url}");
        assert_eq!(reply.headers()["cache-control"], "public, max-age=31536000, immutable");
        let body = axum::body::to_bytes(reply.into_body(), 1 << 20).await.unwrap();
        let mut text = String::new();
        GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
        assert!(text.len() > 1000, "{url}");
        (bytes, files) = (bytes + body.len(), files + 1);
    }
    assert_eq!(files, 3);
    assert!(bytes < 60_000, "the overview weighs {bytes} bytes, itself uncompressed");
    assert_eq!(get(&app, "/assets/0-htmx.js").await.status, StatusCode::NOT_FOUND);
}

#[test]
fn what_is_not_ours_is_unchanged() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../jobkit-admin/assets");
    let said = std::fs::read_to_string(format!("{folder}/README.md")).unwrap();
    for file in ["htmx.min.js", "hx-sse.min.js"] {
        let hash = Sha256::digest(std::fs::read(format!("{folder}/{file}")).unwrap());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let row = said.lines().find(|line| line.starts_with(&format!("| `{file}`"))).unwrap();
        assert!(row.contains(&hash), "{file} has {hash}");
    }
}

#[test]
fn templates_have_no_scripts_styles_or_raw_texts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../jobkit-admin/templates");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for forbidden in ["|safe", "| safe", " style=", "<style", " onclick", " onload", "hx-on"] {
            assert!(!text.contains(forbidden), "{:?} has {forbidden}", entry.path());
        }
        let scripts = text.matches("<script").count();
        assert_eq!(scripts, text.matches("<script src=\"{{ frame.asset(").count());
        read += 1;
    }
    assert!(read > 10);
}
