//! Scripts and styles. They are the same for everyone, and a changed file gets a new name.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::IntoResponse;
use flate2::Compression;

use crate::compression;
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// One file, because htmx starts at once and ignores extensions that load later.
const HTMX: &str =
    concat!(include_str!("../assets/htmx.min.js"), "\n", include_str!("../assets/hx-sse.min.js"));

const ASSETS: [Asset; 3] = [
    Asset { name: "htmx.js", kind: SCRIPT, bytes: HTMX.as_bytes() },
    Asset { name: "dashboard.js", kind: SCRIPT, bytes: include_bytes!("../assets/dashboard.js") },
    Asset { name: "dashboard.css", kind: STYLE, bytes: include_bytes!("../assets/dashboard.css") },
];

/// A file as it is served.
struct Served {
    name: &'static str,
    /// The name with a hash of the content, so that browsers can cache the file.
    hashed: String,
    kind: &'static str,
    bytes: &'static [u8],
    /// The content, compressed once: files are public.
    gzip: Vec<u8>,
}

static SERVED: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let served = |Asset { name, kind, bytes }| {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let gzip = compression::gzip(bytes, Compression::best());
        let gzip = gzip.expect("a vector takes everything");
        Served { name, hashed: format!("{hash:016x}-{name}"), kind, bytes, gzip }
    };
    ASSETS.into_iter().map(served).collect()
});

/// The name of a file in links.
pub(crate) fn hashed(name: &str) -> &'static str {
    let served = SERVED.iter().find(|served| served.name == name);
    served.map_or("missing", |served| served.hashed.as_str())
}

pub(crate) async fn file(context: &Context) -> Answer {
    let name = context.request.param("file").unwrap_or_default();
    let served = SERVED.iter().find(|served| served.hashed == name).ok_or(Failure::NotFound)?;
    let headers =
        [(CONTENT_TYPE, served.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok(match context.takes_gzip {
        true => (headers, [(CONTENT_ENCODING, "gzip")], served.gzip.as_slice()).into_response(),
        false => (headers, served.bytes).into_response(),
    })
}
