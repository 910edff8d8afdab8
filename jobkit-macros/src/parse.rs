use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, Expr, LitStr, Result, Token, Type, token};

use crate::literal::{self, Integer};
use crate::mistakes::Mistakes;
use crate::redact;
use crate::suggest::listed;
use crate::synonyms::{Meant, meant};
use crate::version::{self, Upcast};

/// The list of arguments: `name: form of its value, what reads that, an example for messages`.
macro_rules! arguments {
    ($($name:ident: $form:ty, $read:expr, $example:literal;)*) => {
        /// Every argument, with an example value for messages.
        pub(crate) const ARGUMENTS: [(&str, &str); [$($example),*].len()] =
            [$((stringify!($name), $example)),*];

        /// The arguments as written: right in form, not yet checked for meaning.
        #[derive(Default)]
        pub(crate) struct Args {
            $(pub(crate) $name: Option<Given<$form>>,)*
            /// The given names, including those with an invalid value.
            names: Vec<&'static str>,
            /// The probable names of misspelt ones.
            meant: Vec<&'static str>,
        }

        impl Args {
            /// Reads the value behind a name.
            fn read(&mut self, name: Ident, input: ParseStream<'_>) -> Result<()> {
                match &*name.to_string() {
                    $(stringify!($name) => {
                        let first = self.once(&name, stringify!($name));
                        let value = ($read)(input, &name, $example);
                        first?;
                        self.$name = Some(Given { name, value: value? });
                    })*
                    _ => return Err(self.unknown(&name)),
                }
                Ok(())
            }
        }
    };
}

arguments! {
    kind: LitStr, of(literal::text), "\"send_receipt\"";
    aliases: Vec<LitStr>, of(literal::texts), "[\"old_name\"]";
    version: Integer, of(literal::integer), "3";
    upcast: Vec<Upcast>, version::list, "upcast(2 = Self::from_v2)";
    queue: LitStr, of(literal::text), "\"mail\"";
    priority: Integer, of(literal::integer), "-1";
    max_attempts: Integer, of(literal::integer), "5";
    timeout: Option<LitStr>, of(literal::text_or_none), "\"90s\"";
    expires: LitStr, of(literal::text), "\"1h\"";
    retry_for: LitStr, of(literal::text), "\"6h\"";
    retention: Option<LitStr>, of(literal::text_or_none), "\"7d\"";
    retention_discarded: LitStr, of(literal::text), "\"30d\"";
    backoff: Expr, value, "exponential(\"5s\")";
    auto_replay: Option<LitStr>, of(literal::text_or_none), "\"1h\"";
    max_cycles: Integer, of(literal::integer), "5";
    dead_letter_key: Expr, value, "self.account_id";
    concurrency_key: Expr, value, "self.account_id";
    concurrency_limit: Integer, of(literal::integer), "2";
    concurrency_group: LitStr, of(literal::text), "\"accounts\"";
    rate: LitStr, of(literal::text), "\"100/min\"";
    burst: Integer, of(literal::integer), "20";
    unique_key: Expr, value, "self.account_id";
    unique_group: LitStr, of(literal::text), "\"accounts\"";
    unique_while: Expr, value, "queued";
    unique_for: LitStr, of(literal::text), "\"1h\"";
    on_duplicate: Expr, value, "replace";
    coalesce_key: Expr, value, "self.account_id";
    coalesce_group: LitStr, of(literal::text), "\"accounts\"";
    chunk: Integer, of(literal::integer), "100";
    linger: LitStr, of(literal::text), "\"50ms\"";
    redact: Vec<redact::Path>, redact::list, "redact(token)";
    encrypt: Vec<redact::Path>, redact::list, "encrypt(token)";
    result: Type, value, "Receipt";
    schedule: LitStr, of(literal::text), "\"0 3 * * * Europe/Berlin\"";
    subscribes: (), literal::none, "subscribes";
}

/// The arguments that most jobs need: messages name these, and the documentation begins with them.
pub(crate) const COMMON: [&str; 8] = [
    "queue",
    "priority",
    "max_attempts",
    "timeout",
    "backoff",
    "concurrency_key",
    "concurrency_limit",
    "unique_key",
];

/// A given argument whose value has the right form.
pub(crate) struct Given<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut args = Self::default();
        let list = |input: ParseStream<'_>| {
            args.list(input, mistakes);
            Ok(())
        };
        let parsed = list.parse2(tokens);
        mistakes.sift(parsed);
        args
    }

    /// Whether the user meant to give this argument: if so, its absence is no second mistake.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.names.contains(&name) || self.meant.contains(&name)
    }

    /// Reads to the end of the input. After a mistake it continues after the next comma.
    fn list(&mut self, input: ParseStream<'_>, mistakes: &mut Mistakes) {
        while !input.is_empty() {
            let argument = argument_name(input).and_then(|name| self.read(name, input));
            let argument = argument.and_then(|()| separator(input));
            if mistakes.sift(argument).is_none() && !starts_argument(input) {
                skip_past_comma(input);
            }
        }
    }

    /// Notes the name of an argument, and refuses it from the second time on.
    fn once(&mut self, name: &Ident, known: &'static str) -> Result<()> {
        let twice = self.names.contains(&known);
        self.names.push(known);
        let message = format_args!("`{name}` is given twice: keep one of them");
        if twice { Err(Error::new_spanned(name, message)) } else { Ok(()) }
    }

    fn unknown(&mut self, name: &Ident) -> Error {
        let names = ARGUMENTS.iter().map(|(name, _)| *name);
        let message = match meant(&name.to_string(), names) {
            Some(Meant::Argument(meant)) => {
                self.meant.push(meant);
                format!("unknown argument `{name}`: did you mean `{meant}`?")
            }
            Some(Meant::Elsewhere(instead)) => format!("unknown argument `{name}`: {instead}"),
            None => {
                let common = listed(COMMON.into_iter());
                format!(
                    "unknown argument `{name}`: the most common are {common}; the documentation \
                     of `jobkit::job` lists all"
                )
            }
        };
        Error::new_spanned(name, message)
    }
}

/// Reads the value of an argument out of an expression.
fn of<T>(
    read: fn(&Ident, &Expr, &str) -> Result<T>,
) -> impl Fn(ParseStream<'_>, &Ident, &str) -> Result<T> {
    move |input, name, example| read(name, &value(input, name, example)?, example)
}

fn argument_name(input: ParseStream<'_>) -> Result<Ident> {
    if input.peek(syn::Ident::peek_any) {
        return input.call(Ident::parse_any);
    }
    let next: TokenTree = input.fork().parse()?;
    let message = match &next {
        TokenTree::Literal(value) => {
            let (name, value) = match value.to_string() {
                text if text.starts_with('"') => ("queue", text),
                number => ("max_attempts", number),
            };
            format!("this value needs the name of an argument: write `{name} = {value}`")
        }
        _ => "expected an argument such as `queue = \"mail\"`".to_owned(),
    };
    Err(Error::new_spanned(next, message))
}

/// `=` and the expression or type after it. An invalid value is not consumed, so that the caller
/// finds the comma after it.
fn value<T: Parse>(input: ParseStream<'_>, name: &Ident, example: &str) -> Result<T> {
    if input.peek(token::Paren) || input.peek(Token![:]) {
        let next: TokenTree = input.fork().parse()?;
        let message = format!("the value of `{name}` goes after `=`: write `{name} = {example}`");
        return Err(Error::new_spanned(next, message));
    }
    let equals = input.parse::<Option<Token![=]>>()?;
    if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
        let message = format!("`{name}` needs a value: write `{name} = {example}`");
        return Err(Error::new_spanned(name, message));
    }
    let ahead = input.fork();
    match ahead.parse::<T>() {
        Ok(value) => {
            input.advance_to(&ahead);
            Ok(value)
        }
        Err(error) => Err(broken(value_tokens(input), &name.to_string(), &error)),
    }
}

/// The message for a value that is not an expression. An incomplete value is underlined as a whole,
/// since there is nothing at its end; inside parentheses the parser knows the position.
fn broken(value: TokenStream, name: &str, error: &Error) -> Error {
    match value.clone().into_iter().last() {
        Some(TokenTree::Punct(_)) => {
            let message = format!("this value of `{name}` is incomplete: {error}");
            Error::new_spanned(value, message)
        }
        _ => Error::new(error.span(), format!("this value of `{name}` does not parse: {error}")),
    }
}

/// The tokens before the next comma.
fn value_tokens(input: ParseStream<'_>) -> TokenStream {
    let ahead = input.fork();
    let mut tokens = TokenStream::new();
    while !ahead.is_empty() && !ahead.peek(Token![,]) {
        tokens.extend(ahead.parse::<TokenTree>());
    }
    tokens
}

/// Takes the comma after an argument, or a `;` instead of it.
fn separator(input: ParseStream<'_>) -> Result<()> {
    if input.is_empty() || input.parse::<Option<Token![,]>>()?.is_some() {
        return Ok(());
    }
    let next: TokenTree = input.fork().parse()?;
    input.parse::<Option<Token![;]>>()?;
    let message = match &next {
        TokenTree::Ident(_) => format!("expected `,` before `{next}`"),
        TokenTree::Punct(punct) if punct.spacing() == Spacing::Alone => {
            format!("expected `,`, found `{punct}`")
        }
        _ => "expected `,` after the value".to_owned(),
    };
    Err(Error::new_spanned(next, message))
}

/// Whether `name =` is next, as after a forgotten comma.
fn starts_argument(input: ParseStream<'_>) -> bool {
    input.peek(syn::Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

fn skip_past_comma(input: ParseStream<'_>) {
    while let Ok(token) = input.parse::<TokenTree>() {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            return;
        }
    }
}
