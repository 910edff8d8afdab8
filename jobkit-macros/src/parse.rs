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

/// Every argument, with an example value for messages.
pub(crate) const ARGUMENTS: [(&str, &str); 35] = [
    ("kind", "\"send_receipt\""),
    ("aliases", "[\"old_name\"]"),
    ("version", "3"),
    ("upcast", "upcast(2 = Self::from_v2)"),
    ("queue", "\"mail\""),
    ("priority", "-1"),
    ("max_attempts", "5"),
    ("timeout", "\"90s\""),
    ("expires", "\"1h\""),
    ("retry_for", "\"6h\""),
    ("retention", "\"7d\""),
    ("retention_discarded", "\"30d\""),
    ("backoff", "exponential(\"5s\")"),
    ("auto_replay", "\"1h\""),
    ("max_cycles", "5"),
    ("dead_letter_key", "self.account_id"),
    ("concurrency_key", "self.account_id"),
    ("concurrency_limit", "2"),
    ("concurrency_group", "\"accounts\""),
    ("rate", "\"100/min\""),
    ("burst", "20"),
    ("unique_key", "self.account_id"),
    ("unique_group", "\"accounts\""),
    ("unique_while", "queued"),
    ("unique_for", "\"1h\""),
    ("on_duplicate", "replace"),
    ("coalesce_key", "self.account_id"),
    ("coalesce_group", "\"accounts\""),
    ("batch", "100"),
    ("linger", "\"50ms\""),
    ("redact", "redact(token)"),
    ("encrypt", "encrypt(token)"),
    ("result", "Receipt"),
    ("schedule", "\"0 3 * * * Europe/Berlin\""),
    ("subscribes", "subscribes"),
];

/// A given argument whose value has the right form.
pub(crate) struct Given<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// The arguments as written: right in form, not yet checked for meaning.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) kind: Option<Given<LitStr>>,
    pub(crate) aliases: Option<Given<Vec<LitStr>>>,
    pub(crate) version: Option<Given<Integer>>,
    pub(crate) upcast: Option<Given<Vec<Upcast>>>,
    pub(crate) queue: Option<Given<LitStr>>,
    pub(crate) priority: Option<Given<Integer>>,
    pub(crate) max_attempts: Option<Given<Integer>>,
    /// `None` inside stands for the word `none`; so in the next two.
    pub(crate) timeout: Option<Given<Option<LitStr>>>,
    pub(crate) retention: Option<Given<Option<LitStr>>>,
    pub(crate) auto_replay: Option<Given<Option<LitStr>>>,
    pub(crate) expires: Option<Given<LitStr>>,
    pub(crate) retry_for: Option<Given<LitStr>>,
    pub(crate) retention_discarded: Option<Given<LitStr>>,
    pub(crate) backoff: Option<Given<Expr>>,
    pub(crate) max_cycles: Option<Given<Integer>>,
    pub(crate) dead_letter_key: Option<Given<Expr>>,
    pub(crate) concurrency_key: Option<Given<Expr>>,
    pub(crate) concurrency_limit: Option<Given<Integer>>,
    pub(crate) concurrency_group: Option<Given<LitStr>>,
    pub(crate) rate: Option<Given<LitStr>>,
    pub(crate) burst: Option<Given<Integer>>,
    pub(crate) unique_key: Option<Given<Expr>>,
    pub(crate) unique_group: Option<Given<LitStr>>,
    pub(crate) unique_while: Option<Given<Expr>>,
    pub(crate) unique_for: Option<Given<LitStr>>,
    pub(crate) on_duplicate: Option<Given<Expr>>,
    pub(crate) coalesce_key: Option<Given<Expr>>,
    pub(crate) coalesce_group: Option<Given<LitStr>>,
    pub(crate) batch: Option<Given<Integer>>,
    pub(crate) linger: Option<Given<LitStr>>,
    pub(crate) redact: Option<Given<Vec<redact::Path>>>,
    pub(crate) encrypt: Option<Given<Vec<redact::Path>>>,
    pub(crate) result: Option<Given<Type>>,
    pub(crate) schedule: Option<Given<LitStr>>,
    /// The word alone.
    pub(crate) subscribes: Option<Ident>,
    /// The given names, including those with an invalid value.
    names: Vec<&'static str>,
    /// The probable names of misspelt ones.
    meant: Vec<&'static str>,
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
            let argument = self.argument(input).and_then(|()| separator(input));
            if mistakes.sift(argument).is_none() && !starts_argument(input) {
                skip_past_comma(input);
            }
        }
    }

    fn argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = argument_name(input)?;
        let Some((known, example)) = entry(&name.to_string()) else {
            return Err(self.unknown(&name));
        };
        let twice = self.names.contains(&known);
        self.names.push(known);
        let refuse_twice = || {
            let message = format_args!("`{name}` is given twice: keep one of them");
            if twice { Err(Error::new_spanned(&name, message)) } else { Ok(()) }
        };
        match known {
            "subscribes" => {
                literal::none(input, &name)?;
                refuse_twice()?;
                self.subscribes = Some(name);
            }
            "redact" | "encrypt" => {
                let value = redact::list(input, &name, example)?;
                refuse_twice()?;
                let list = if known == "redact" { &mut self.redact } else { &mut self.encrypt };
                *list = Some(Given { name, value });
            }
            "upcast" => {
                let value = version::list(input, &name, example)?;
                refuse_twice()?;
                self.upcast = Some(Given { name, value });
            }
            "result" => {
                let value = value(input, &name, example)?;
                refuse_twice()?;
                self.result = Some(Given { name, value });
            }
            _ => {
                let value = value(input, &name, example)?;
                refuse_twice()?;
                self.set(name, value, example)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, name: Ident, value: Expr, example: &str) -> Result<()> {
        match name.to_string().as_str() {
            "kind" => self.kind = Some(given(name, &value, example, literal::text)?),
            "aliases" => self.aliases = Some(given(name, &value, example, literal::texts)?),
            "version" => self.version = Some(given(name, &value, example, literal::integer)?),
            "schedule" => self.schedule = Some(given(name, &value, example, literal::text)?),
            "queue" => self.queue = Some(given(name, &value, example, literal::text)?),
            "priority" => self.priority = Some(given(name, &value, example, literal::integer)?),
            "max_attempts" => {
                self.max_attempts = Some(given(name, &value, example, literal::integer)?);
            }
            "timeout" => self.timeout = Some(given(name, &value, example, literal::text_or_none)?),
            "expires" => self.expires = Some(given(name, &value, example, literal::text)?),
            "retry_for" => self.retry_for = Some(given(name, &value, example, literal::text)?),
            "retention_discarded" => {
                self.retention_discarded = Some(given(name, &value, example, literal::text)?);
            }
            "retention" => {
                self.retention = Some(given(name, &value, example, literal::text_or_none)?);
            }
            "backoff" => self.backoff = Some(Given { name, value }),
            "auto_replay" => {
                self.auto_replay = Some(given(name, &value, example, literal::text_or_none)?);
            }
            "max_cycles" => self.max_cycles = Some(given(name, &value, example, literal::integer)?),
            "dead_letter_key" => self.dead_letter_key = Some(Given { name, value }),
            "concurrency_key" => self.concurrency_key = Some(Given { name, value }),
            "concurrency_limit" => {
                self.concurrency_limit = Some(given(name, &value, example, literal::integer)?);
            }
            "concurrency_group" => {
                self.concurrency_group = Some(given(name, &value, example, literal::text)?);
            }
            "rate" => self.rate = Some(given(name, &value, example, literal::text)?),
            "burst" => self.burst = Some(given(name, &value, example, literal::integer)?),
            "unique_key" => self.unique_key = Some(Given { name, value }),
            "unique_group" => {
                self.unique_group = Some(given(name, &value, example, literal::text)?);
            }
            "unique_while" => self.unique_while = Some(Given { name, value }),
            "unique_for" => self.unique_for = Some(given(name, &value, example, literal::text)?),
            "on_duplicate" => self.on_duplicate = Some(Given { name, value }),
            "coalesce_key" => self.coalesce_key = Some(Given { name, value }),
            "coalesce_group" => {
                self.coalesce_group = Some(given(name, &value, example, literal::text)?);
            }
            _ => return self.set_batch(name, &value, example),
        }
        Ok(())
    }

    fn set_batch(&mut self, name: Ident, value: &Expr, example: &str) -> Result<()> {
        match name.to_string().as_str() {
            "batch" => self.batch = Some(given(name, value, example, literal::integer)?),
            "linger" => self.linger = Some(given(name, value, example, literal::text)?),
            other => unreachable!("`{other}` is in the list of arguments but has no field"),
        }
        Ok(())
    }

    fn unknown(&mut self, name: &Ident) -> Error {
        let names = ARGUMENTS.iter().map(|(name, _)| *name);
        let message = match meant(&name.to_string(), names.clone()) {
            Some(Meant::Argument(meant)) => {
                self.meant.push(meant);
                format!("unknown argument `{name}`: did you mean `{meant}`?")
            }
            Some(Meant::Elsewhere(instead)) => format!("unknown argument `{name}`: {instead}"),
            None => format!("unknown argument `{name}`: the arguments are {}", listed(names)),
        };
        Error::new_spanned(name, message)
    }
}

type Reading<T> = fn(&Ident, &Expr, &str) -> Result<T>;

fn given<T>(name: Ident, value: &Expr, example: &str, read: Reading<T>) -> Result<Given<T>> {
    let value = read(&name, value, example)?;
    Ok(Given { name, value })
}

fn entry(name: &str) -> Option<(&'static str, &'static str)> {
    ARGUMENTS.into_iter().find(|(known, _)| *known == name)
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
            format!("a value needs the name of its argument: write `{name} = {value}`")
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
