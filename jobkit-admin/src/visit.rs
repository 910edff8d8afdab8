//! One request, as handlers see it.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{OriginalUri, RawPathParams};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use form_urlencoded::parse;
use jobkit::{Admin, Error};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::access::{Access, Permission, Redaction};
use crate::compressed;
use crate::dashboard::Shared;
use crate::failure::Failure;
use crate::frame::{Frame, Refresh, Theme};
use crate::router::Answer;

const FLASH: &str = "jobkit-flash";

/// What is to be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A whole page.
    Page,
    /// What changes of a page.
    Fragment,
    /// JSON.
    Data,
}

/// A request from somebody who may make it.
pub(crate) struct Visit {
    pub(crate) shared: Arc<Shared>,
    pub(crate) access: Access,
    /// The prefix of all links: empty, or `/jobs`.
    pub(crate) base: String,
    /// Below the base, with the query: where this page is.
    pub(crate) here: String,
    pub(crate) wants: Wants,
    pub(crate) theme: Theme,
    pub(crate) refresh: Refresh,
    /// Whether files may come compressed.
    pub(crate) takes_gzip: bool,
    path: String,
    params: Vec<(String, String)>,
    query: Vec<(String, String)>,
    form: Vec<(String, String)>,
    body: Bytes,
    flash: Option<String>,
    /// Where the browser is, when a script of ours asks.
    current: Option<String>,
}

impl Visit {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        access: Access,
        parts: &Parts,
        params: &RawPathParams,
    ) -> Self {
        let mut visit = Self::of_nothing(shared, access, parts);
        visit.params = params.iter().map(|(name, value)| (name.into(), value.into())).collect();
        visit
    }

    /// A visit to what is not there.
    pub(crate) fn of_nothing(shared: &Arc<Shared>, access: Access, parts: &Parts) -> Self {
        let path = parts.uri.path();
        let here = parts.uri.path_and_query().map_or(path, |whole| whole.as_str());
        let query = parts.uri.query().unwrap_or("");
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let wants = match header("hx-request") {
            _ if path.starts_with("/api/") => Wants::Data,
            Some("true") if header("hx-history-restore-request").is_none() => Wants::Fragment,
            _ => Wants::Page,
        };
        let chosen = |name| cookie(&parts.headers, name).unwrap_or_default();
        Self {
            shared: shared.clone(),
            access,
            base: base(&shared.base_path, parts),
            here: here.to_owned(),
            wants,
            theme: Theme::named(&chosen(Theme::COOKIE)),
            refresh: Refresh::named(&chosen(Refresh::COOKIE)),
            takes_gzip: compressed::is_taken(&parts.headers),
            path: path.to_owned(),
            params: Vec::new(),
            query: parse(query.as_bytes()).into_owned().collect(),
            form: Vec::new(),
            body: Bytes::new(),
            flash: cookie(&parts.headers, FLASH).filter(|text| text.len() < 1000),
            current: header("hx-current-url").map(str::to_owned),
        }
    }

    /// Takes the body in.
    pub(crate) fn read(&mut self, kind: &str, bytes: &Bytes) -> Result<(), Failure> {
        let form = kind == "application/x-www-form-urlencoded";
        match self.wants {
            Wants::Data if !bytes.is_empty() && kind != "application/json" => {
                Err(Failure::Invalid("The body must be application/json.".into()))
            }
            Wants::Data => {
                self.body = bytes.clone();
                Ok(())
            }
            _ if form || bytes.is_empty() => {
                self.form = parse(bytes).into_owned().collect();
                Ok(())
            }
            _ => Err(Failure::Invalid("The body must be a form.".into())),
        }
    }

    /// The queue, under the visitor's name.
    pub(crate) fn admin(&self) -> Admin {
        self.shared.admin.acting_as(&self.access.actor)
    }

    /// Whether they may.
    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.access.permissions.allows(permission)
    }

    /// What of payloads is hidden from them; everything, without the permission to see any.
    pub(crate) fn redaction(&self) -> Option<Redaction> {
        self.may(Permission::Payloads).then_some(self.access.redaction)
    }

    /// The id in the path. What is none is not found.
    pub(crate) fn id(&self) -> Result<i64, Failure> {
        self.param("id").and_then(|id| id.parse().ok()).ok_or(Failure::NotFound)
    }

    /// A parameter of the path.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        find(&self.params, name)
    }

    /// A text of the query; `None` when it is not there, or empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        find(&self.query, name).filter(|text| !text.is_empty())
    }

    /// A number of the query, within these bounds whatever it says.
    pub(crate) fn clamped(&self, name: &str, low: u32, high: u32, default: u32) -> u32 {
        let text = self.query(name).unwrap_or("");
        // More digits than fit are a large number.
        let large = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().unwrap_or(if large { high } else { default });
        number.clamp(low, high)
    }

    /// A field of the form; `None` when it is not there, or empty.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        find(&self.form, name).filter(|text| !text.is_empty())
    }

    /// The rows that were selected, wherever that is said.
    pub(crate) fn rows(&self) -> Vec<&str> {
        let pairs = self.query.iter().chain(&self.form);
        pairs.filter(|(name, _)| name == "row").map(|(_, id)| id.as_str()).collect()
    }

    /// A field of the form that must be there, but may be empty.
    pub(crate) fn must(&self, name: &'static str) -> Result<&str, Failure> {
        find(&self.form, name).ok_or_else(|| Failure::Invalid(format!("“{name}” is missing.")))
    }

    /// A field of the form that is something; `None` when it is empty.
    pub(crate) fn parsed<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Failure> {
        let parse = |text: &str| {
            text.trim().parse().map_err(|_| Failure::Invalid(format!("“{name}” is no number.")))
        };
        self.field(name).map(parse).transpose()
    }

    /// The body of a request to the API.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The link to a path below the mount.
    pub(crate) fn link(&self, path: &str) -> String {
        // Where axum nests a router there is no slash after the prefix.
        match path.strip_prefix('/') {
            Some(rest) if rest.is_empty() || rest.starts_with('?') => {
                let root = if self.base.is_empty() { "/" } else { &self.base };
                format!("{root}{rest}")
            }
            _ => format!("{}{path}", self.base),
        }
    }

    /// The surroundings of a page that is not there: they do not say where it would be.
    pub(crate) fn nowhere<'a>(&'a self, title: &'a str) -> Frame<'a> {
        Frame::new(self, "", title, None)
    }

    /// The page's surroundings.
    pub(crate) fn frame<'a>(&'a self, title: &'a str) -> Frame<'a> {
        Frame::new(self, &self.path, title, self.flash.as_deref())
    }

    /// Sends the browser to a page below the mount, which will say this. Where the form says to go
    /// goes before.
    pub(crate) fn redirect(&self, path: &str, say: &str) -> Answer {
        let back = self.field("back").filter(|path| is_local(path)).unwrap_or(path);
        let location = HeaderValue::try_from(self.link(back)).map_err(|_| Failure::NotFound)?;
        let say: String = say.chars().take(200).collect();
        let say = utf8_percent_encode(&say, NON_ALPHANUMERIC).to_string();
        let cookie = self.cookie(FLASH, &say, 60);
        Ok((StatusCode::SEE_OTHER, [(LOCATION, location), (SET_COOKIE, cookie)]).into_response())
    }

    /// Sends the browser to a page below the mount.
    pub(crate) fn moved(&self, path: &str) -> Answer {
        let location = HeaderValue::try_from(self.link(path)).map_err(|_| Failure::NotFound)?;
        Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
    }

    /// A cookie that only this dashboard gets.
    pub(crate) fn cookie(&self, name: &str, value: &str, seconds: u32) -> HeaderValue {
        let path = if self.base.is_empty() { "/" } else { &self.base };
        let text =
            format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict");
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }

    /// The answer when something cannot be done.
    pub(crate) fn fail(&self, failure: impl Into<Failure>) -> Response {
        failure.into().answer(self)
    }

    /// What remains to be said with an answer: the flash has been shown, and the address may have
    /// changed on the way.
    pub(crate) fn finish(&self, mut response: Response) -> Response {
        let shown = response.status() == StatusCode::OK && self.wants != Wants::Data;
        let headers = response.headers_mut();
        if shown && self.flash.is_some() {
            headers.append(SET_COOKIE, self.cookie(FLASH, "", 0));
        }
        let here = self.link(&self.here);
        let moved = |url: &str| !url.ends_with(&here);
        if shown
            && self.wants == Wants::Fragment
            && self.current.as_deref().is_some_and(moved)
            && let Ok(here) = HeaderValue::try_from(here)
        {
            headers.insert(HeaderName::from_static("hx-push-url"), here);
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
    // Two slashes at the beginning would name another host.
    let prefix = format!("{stripped}/{}", prefix.trim_start_matches('/'));
    prefix.trim_end_matches('/').to_owned()
}

/// Whether a path leads to no other host.
fn is_local(path: &str) -> bool {
    path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains('\\')
        && path.bytes().all(|byte| byte.is_ascii_graphic())
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The value of a cookie, decoded.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(key, _)| key.trim() == name)?;
    percent_decode_str(value.trim()).decode_utf8().ok().map(|text| text.into_owned())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
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
    }
}
