//! Whoever follows every link.

use std::collections::{BTreeSet, VecDeque};

use axum::Router;
use axum::http::StatusCode;

use crate::site::get;

/// Attributes that hold a URL.
const ATTRIBUTES: [&str; 6] = ["href", "src", "action", "hx-get", "hx-post", "hx-sse:connect"];

/// The URLs in a page, with the attributes they are in.
pub(crate) fn urls(body: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for attribute in ATTRIBUTES {
        for (at, start) in body.match_indices(&format!(" {attribute}=\"")) {
            let rest = &body[at + start.len()..];
            let url = rest.split('"').next().unwrap();
            found.push((attribute, unescape(url)));
        }
    }
    found
}

fn unescape(text: &str) -> String {
    text.replace("&#38;", "&").replace("&amp;", "&").replace("&#34;", "\"")
}

/// What a crawl has seen: the page of each URL.
pub(crate) struct Crawled {
    pub(crate) pages: Vec<(String, String)>,
    pub(crate) urls: BTreeSet<(&'static str, String)>,
}

/// Follows all links from a page, as far as that many pages; each must be there.
pub(crate) async fn crawl(app: &Router, from: &str, most: usize) -> Crawled {
    let mut crawled = Crawled { pages: Vec::new(), urls: BTreeSet::new() };
    let (mut seen, mut ahead) = (BTreeSet::from([from.to_owned()]), VecDeque::new());
    ahead.push_back(from.to_owned());
    while let Some(url) = ahead.pop_front().filter(|_| crawled.pages.len() < most) {
        let reply = get(app, &url).await;
        assert_eq!(reply.status, StatusCode::OK, "{url}: {}", reply.body);
        for (attribute, url) in urls(&reply.body) {
            let page =
                url.starts_with('/') && !url.contains("/assets/") && !url.contains("/export");
            let follow = attribute == "href" && page;
            if follow && seen.insert(url.clone()) {
                ahead.push_back(url.clone());
            }
            crawled.urls.insert((attribute, url));
        }
        crawled.pages.push((url, reply.body));
    }
    crawled
}
