//! `chunk` and `linger`: jobs that run together.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;

use crate::duration::{self, LINGER};
use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};
use crate::range::{Range, integer};

const CHUNK: Range = Range { numbers: 1..=1000, in_words: "from `1` to `1000`" };

/// How many jobs one call runs, and how long the first waits for the others.
pub(crate) struct Chunk {
    max: u16,
    linger: Duration,
}

impl Chunk {
    /// Reads both; `linger` needs `chunk`.
    pub(crate) fn read(args: &Args, mistakes: &mut Mistakes) -> Option<Self> {
        if let Some(Given { name, .. }) = args.linger.as_ref().filter(|_| !args.mentions("chunk")) {
            let message =
                format_args!("`{name}` needs a chunk: add `chunk = 100`, or leave `{name}` out");
            mistakes.add(name, message);
        }
        if let (Some(Given { name, .. }), true) = (&args.result, args.mentions("chunk")) {
            let message = "a job with `chunk` has no result to keep: leave one of the two out";
            mistakes.add(name, message);
        }
        let linger = args.linger.as_ref().map(|given| duration::read(&given.value, &LINGER));
        let linger = linger.and_then(|linger| mistakes.sift(linger));
        let max = integer(args.chunk.as_ref(), &CHUNK, mistakes)?;
        Some(Self { max, linger: linger.unwrap_or(Duration::from_millis(50)) })
    }

    /// The code of its `Some`.
    pub(crate) fn code(&self) -> TokenStream {
        let (max, linger) = (self.max, duration::code(self.linger));
        quote!(::core::option::Option::Some(::jobkit::private::Chunk {
            max: #max,
            linger: #linger,
        }))
    }
}
