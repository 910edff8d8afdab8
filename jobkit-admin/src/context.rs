//! One request, as handlers see it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{OriginalUri, RawPathParams};
use axum::http::header::{ACCEPT, COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use form_urlencoded::parse;
use jobkit::Admin;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::access::{Access, Permission, Redaction};
use crate::compression;
use crate::failure::{Answer, Failure};
use crate::request::fields::Fields;
use crate::request::preferences::{Refresh, Theme};
use crate::shared::Shared;

/// The paths for monitoring.
const PROBED: [&str; 3] = ["/healthz", "/metrics", "/readyz"];
const FLASH: &str = "jobkit-flash";
/// The header that makes htmx load another page.
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

/// The format of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A whole page.
    Page,
    /// The part of a page that changes.
    Fragment,
    /// JSON.
    Data,
    /// A line of text, which monitoring programs show unchanged.
    Text,
}

/// An authorized request.
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) access: Access,
    /// The prefix of all links: empty, or `/jobs`.
    pub(crate) base: String,
    /// The path of this page below the base, with the query.
    pub(crate) here: String,
    pub(crate) wants: Wants,
    pub(crate) theme: Theme,
    pub(crate) refresh: Refresh,
    /// Whether files may be compressed.
    pub(crate) takes_gzip: bool,
    /// The accepted media types.
    pub(crate) accept: String,
    /// The path below the mount.
    pub(crate) path: String,
    /// The fields of its URL and its body.
    pub(crate) request: Fields,
    pub(crate) flash: Option<String>,
    /// The path and query of the page that the browser shows, if our script sent the request.
    current: Option<String>,
}

impl Context {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        access: Access,
        parts: &Parts,
        params: &RawPathParams,
    ) -> Self {
        let mut context = Self::of_nothing(shared, access, parts);
        context.request.params =
            params.iter().map(|(name, value)| (name.into(), value.into())).collect();
        context
    }

    /// The context of a path that does not exist.
    pub(crate) fn of_nothing(shared: &Arc<Shared>, access: Access, parts: &Parts) -> Self {
        let path = parts.uri.path();
        let here = parts.uri.path_and_query().map_or(path, |whole| whole.as_str());
        let query = parts.uri.query().unwrap_or("");
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let wants = match header("hx-request") {
            _ if path.starts_with("/api/") => Wants::Data,
            Some("true") => Wants::Fragment,
            _ if PROBED.contains(&path) => Wants::Text,
            _ => Wants::Page,
        };
        let chosen = |name| cookie(&parts.headers, name).unwrap_or_default();
        Self {
            shared: shared.clone(),
            access,
            base: base(&shared.base_path, parts),
            here: within(here),
            wants,
            theme: Theme::named(&chosen(Theme::COOKIE)),
            refresh: Refresh::named(&chosen(Refresh::COOKIE)),
            takes_gzip: compression::is_taken(&parts.headers),
            accept: lines(&parts.headers, ACCEPT),
            path: path.to_owned(),
            request: Fields::of_query(query),
            flash: cookie(&parts.headers, FLASH).filter(|text| text.len() < 1000),
            current: header("hx-current-url").and_then(page_of).map(str::to_owned),
        }
    }

    /// Parses the body.
    pub(crate) fn read(&mut self, kind: &str, bytes: &Bytes) -> Result<(), Failure> {
        let form = kind == "application/x-www-form-urlencoded";
        match self.wants {
            Wants::Data if !bytes.is_empty() && kind != "application/json" => {
                Err(Failure::Invalid("The body must be application/json.".into()))
            }
            Wants::Data => {
                self.request.body = bytes.clone();
                Ok(())
            }
            _ if form || bytes.is_empty() => {
                self.request.form = parse(bytes).into_owned().collect();
                Ok(())
            }
            _ => Err(Failure::Invalid("The body must be a form.".into())),
        }
    }

    /// The operators' interface, acting under the visitor's name.
    pub(crate) fn admin(&self) -> Admin {
        self.shared.admin.acting_as(&self.access.actor)
    }

    /// Whether the visitor has a permission.
    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.access.may(permission)
    }

    /// What to hide of payloads; `None` hides everything, for want of the permission to see them.
    pub(crate) fn redaction(&self) -> Option<Redaction> {
        self.access.hidden()
    }

    /// The link to a path below the mount.
    pub(crate) fn link(&self, path: &str) -> String {
        // axum serves a nested router at the prefix without a slash.
        match path.strip_prefix('/') {
            Some(rest) if rest.is_empty() || rest.starts_with('?') => {
                let root = if self.base.is_empty() { "/" } else { &self.base };
                format!("{root}{rest}")
            }
            _ => format!("{}{path}", self.base),
        }
    }

    /// Sends the browser to a page below the mount, which shows this message. The form's own target
    /// takes precedence.
    pub(crate) fn redirect(&self, path: &str, say: &str) -> Answer {
        let back = self.request.field("back").filter(|path| is_local(path)).unwrap_or(path);
        let mut response = self.moved(back)?;
        let say: String = say.chars().take(200).collect();
        let say = utf8_percent_encode(&say, NON_ALPHANUMERIC).to_string();
        response.headers_mut().append(SET_COOKIE, self.cookie(FLASH, &say, 60));
        Ok(response)
    }

    /// Sends the browser to a page below the mount.
    pub(crate) fn moved(&self, path: &str) -> Answer {
        let link = self.link(path);
        let (status, name, to) = onward(self.current.as_deref(), &link);
        let to = HeaderValue::try_from(to).map_err(|_| Failure::NotFound)?;
        Ok((status, [(name, to)]).into_response())
    }

    /// A cookie that is sent to this dashboard only.
    pub(crate) fn cookie(&self, name: &str, value: &str, seconds: u32) -> HeaderValue {
        let path = if self.base.is_empty() { "/" } else { &self.base };
        let text =
            format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict");
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }

    /// Finishes an answer: a flash message that was shown is removed.
    pub(crate) fn finish(&self, mut response: Response) -> Response {
        let page = matches!(self.wants, Wants::Page | Wants::Fragment);
        let shown = response.status() == StatusCode::OK && page;
        if shown && self.flash.is_some() {
            response.headers_mut().append(SET_COOKIE, self.cookie(FLASH, "", 0));
        }
        response
    }
}

/// The prefix under which the browser sees the dashboard.
fn base(stripped: &str, parts: &Parts) -> String {
    let original = parts.extensions.get::<OriginalUri>();
    let original = original.map_or(parts.uri.path(), |original| original.0.path());
    let prefix = original.strip_suffix(parts.uri.path()).unwrap_or(original);
    let prefix = prefix.trim_end_matches('/');
    // A path that begins with two slashes would name another host.
    let prefix = format!("{stripped}/{}", prefix.trim_start_matches('/'));
    prefix.trim_end_matches('/').to_owned()
}

/// A path that is safe in links. If it began with two slashes, or a slash and a backslash, it would
/// lead to another host.
fn within(here: &str) -> String {
    format!("/{}", here.trim_start_matches(['/', '\\']))
}

/// How a browser that shows `current` moves to a page. On the same page, the script fetches only
/// the part that changes, with the same query. Another page is loaded in full; otherwise the URL
/// and the refreshes would still be those of the old page.
fn onward<'a>(current: Option<&'a str>, link: &'a str) -> (StatusCode, HeaderName, &'a str) {
    let see_other = |to| (StatusCode::SEE_OTHER, LOCATION, to);
    match current {
        Some(current) if current.split('?').next() == Some(link) => see_other(current),
        Some(current) if current != link => (StatusCode::NO_CONTENT, HX_REDIRECT, link),
        _ => see_other(link),
    }
}

/// The path and query of an address.
fn page_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let page = &rest[rest.find('/')?..];
    page.split('#').next().filter(|page| is_local(page))
}

/// Whether a path stays on this host.
fn is_local(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && path.bytes().all(|byte| byte.is_ascii_graphic())
}

/// All lines of a list header, joined.
fn lines(headers: &HeaderMap, name: HeaderName) -> String {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.collect::<Vec<_>>().join(",")
}

/// The value of a cookie, decoded.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(key, _)| key.trim() == name)?;
    percent_decode_str(value.trim()).decode_utf8().ok().map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_to_another_host() {
        for path in ["//host", "/\\host", "https://host", "host", "", "/a\r\nb", "\\\\host"] {
            assert!(!is_local(path), "{path:?}");
        }
        assert!(is_local("/jobs?q=a%20b"));
        for here in ["/a?b=//c", "//a?b=//c", "///a?b=//c", "/\\a?b=//c", "a?b=//c"] {
            assert_eq!(within(here), "/a?b=//c");
        }
    }

    #[test]
    fn a_script_stays_on_its_page_and_leaves_it_for_another() {
        let onward = |current: Option<&str>, link: &str| {
            let (status, name, to) = onward(current.and_then(page_of), link);
            format!("{} {name}: {to}", status.as_u16())
        };
        let there = "303 location: /dead";
        assert_eq!(onward(None, "/dead"), there);
        assert_eq!(onward(Some("http://host/dead#page"), "/dead"), there);
        assert_eq!(onward(Some("http://host/dead?kind=a"), "/dead"), format!("{there}?kind=a"));
        assert_eq!(onward(Some("http://host/dead/16"), "/dead"), "204 hx-redirect: /dead");
        assert_eq!(onward(Some("http://host/k?g=a"), "/k?g=b"), "204 hx-redirect: /k?g=b");
        for strange in ["", "/dead", "http://host", "http://host//evil/dead", "javascript:alert(1)"]
        {
            assert_eq!(onward(Some(strange), "/dead"), there, "{strange}");
        }
    }
}
