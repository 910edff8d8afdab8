//! The fields of a request: of its path, its query, its form and its body.

use std::str::FromStr;

use axum::body::Bytes;
use form_urlencoded::parse;

use crate::failure::Failure;

#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) params: Vec<(String, String)>,
    query: Vec<(String, String)>,
    pub(crate) form: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Fields {
    /// The fields of a query.
    pub(crate) fn of_query(query: &str) -> Self {
        Self { query: parse(query.as_bytes()).into_owned().collect(), ..Self::default() }
    }

    /// The id in the path. Anything but a number is answered as not found.
    pub(crate) fn id(&self) -> Result<i64, Failure> {
        self.param("id").and_then(|id| id.parse().ok()).ok_or(Failure::NotFound)
    }

    /// A parameter of the path.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        find(&self.params, name)
    }

    /// A text of the query; `None` if it is missing or empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        find(&self.query, name).filter(|text| !text.is_empty())
    }

    /// A number of the query, clamped to these bounds.
    pub(crate) fn clamped(&self, name: &str, low: u32, high: u32, default: u32) -> u32 {
        let text = self.query(name).unwrap_or("");
        // A number with too many digits counts as a large one.
        let large = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().unwrap_or(if large { high } else { default });
        number.clamp(low, high)
    }

    /// A field of the form; `None` if it is missing or empty.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        find(&self.form, name).filter(|text| !text.is_empty())
    }

    /// The selected rows, from the query or the form.
    pub(crate) fn rows(&self) -> Vec<&str> {
        let pairs = self.query.iter().chain(&self.form);
        pairs.filter(|(name, _)| name == "row").map(|(_, id)| id.as_str()).collect()
    }

    /// A required field of the form, which may be empty.
    pub(crate) fn must(&self, name: &'static str) -> Result<&str, Failure> {
        find(&self.form, name).ok_or_else(|| Failure::Invalid(format!("“{name}” is missing.")))
    }

    /// A field of the form, parsed; `None` if it is empty.
    pub(crate) fn parsed<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Failure> {
        let parse = |text: &str| {
            text.trim().parse().map_err(|_| Failure::Invalid(format!("“{name}” must be a number.")))
        };
        self.field(name).map(parse).transpose()
    }

    /// The body of a request to the API.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
