//! A route as the guard sees it: method and path, permission, and handler.

use std::future::Future;
use std::pin::Pin;

use axum::http::Method;

use crate::access::Permission;
use crate::context::Context;
use crate::failure::Answer;

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// One row of the route table.
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) needs: Option<Permission>,
    pub(crate) run: for<'a> fn(&'a Context) -> Answering<'a>,
}

macro_rules! endpoints {
    ($($method:ident $path:literal $needs:expr => $handler:path;)*) => {
        &[$($crate::endpoint::Endpoint {
            method: axum::http::Method::$method,
            path: $path,
            needs: $needs,
            run: |context| Box::pin($handler(context)),
        },)*]
    };
}
pub(crate) use endpoints;
