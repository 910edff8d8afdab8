use std::time::Duration;

use proc_macro2::Ident;
use syn::{Expr, LitStr, Type, parse_quote};

use crate::backoff::Backoff;
use crate::chunk::Chunk;
use crate::duration::{self, EXPIRES, Purpose, REPLAY, RETENTION, RETRY_FOR, TIMEOUT};
use crate::encrypt::{self, Hidden};
use crate::key;
use crate::kind;
use crate::literal::Integer;
use crate::mistakes::Mistakes;
use crate::parse::{Args, Given};
use crate::range::{Range, integer};
use crate::rate::Rate;
use crate::redact::Fields;
use crate::result;
use crate::schedule;
use crate::topic;
use crate::unique::{self, Coalesce, Unique};
use crate::version::Upcast;

const PRIORITY: Range =
    Range { numbers: -3..=3, in_words: "from `-3` (runs first) to `3` (runs last)" };
const ATTEMPTS: Range = Range { numbers: 1..=1000, in_words: "from `1` to `1000`" };
const CYCLES: Range = Range { numbers: 2..=1000, in_words: "from `2` to `1000`" };
const VERSION: Range = Range { numbers: 1..=32_767, in_words: "from `1` to `32767`" };
const BURST: Range = Range { numbers: 1..=1_000_000, in_words: "from `1` to `1000000`" };
const LIMIT: Range = Range { numbers: 1..=1_000_000, in_words: "from `1` to `1000000`" };

/// The name of a queue, in messages.
const QUEUE: &str = "the queue name";

/// The limit of a key without one: `Concurrency::UNLIMITED`.
const UNLIMITED: u32 = i32::MAX as u32;

/// How often a dead letter with `auto_replay` may be buried by default.
const DEFAULT_CYCLES: u16 = 10;

/// A declared job: what the arguments mean. `None` is the library's default.
pub(crate) struct JobModel {
    pub(crate) name: Ident,
    pub(crate) kind: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) version: Option<u16>,
    /// The earlier versions that are read, each with its function.
    pub(crate) upcasts: Vec<(u16, Expr)>,
    pub(crate) queue: Option<String>,
    pub(crate) priority: Option<i16>,
    pub(crate) max_attempts: Option<u16>,
    /// The settings that are durations, by the policy's names for them.
    pub(crate) terms: Vec<(&'static str, Term)>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) auto_replay: Option<AutoReplay>,
    pub(crate) dead_letter_key: Option<Expr>,
    pub(crate) concurrency: Option<Concurrency>,
    pub(crate) rate: Option<Rate>,
    pub(crate) unique: Option<Unique>,
    pub(crate) coalesce: Option<Coalesce>,
    pub(crate) chunk: Option<Chunk>,
    pub(crate) hidden: Hidden,
    /// The type of its result, if that is kept.
    pub(crate) result: Option<Type>,
    /// When it recurs.
    pub(crate) schedule: Option<LitStr>,
    /// The topic that it subscribes to.
    pub(crate) topic: Option<Type>,
}

/// A setting that can be a duration or be switched off.
#[derive(Clone, Copy)]
pub(crate) enum Term {
    None,
    Some(Duration),
}

/// When a dead letter is replayed automatically, and how often it may be buried.
pub(crate) struct AutoReplay {
    pub(crate) after: Duration,
    pub(crate) max_cycles: u16,
}

/// The key of a job and the limit of the key.
pub(crate) struct Concurrency {
    pub(crate) key: Expr,
    pub(crate) group: String,
    pub(crate) limit: u32,
}

impl JobModel {
    /// Interprets the arguments. After a mistake the model is incomplete, and only used to find
    /// more mistakes.
    pub(crate) fn new(
        name: &Ident,
        fields: &Fields,
        mut args: Args,
        mistakes: &mut Mistakes,
    ) -> Self {
        refuse_dependent(&args, mistakes);
        let topic = topic::read(&mut args, fields, mistakes);
        let hidden = encrypt::read(&mut args, fields, mistakes);
        let is_meant = args.mentions("version") || args.mentions("subscribes");
        let version = integer(args.version.as_ref(), &VERSION, mistakes);
        let kind = kind_of(name, &args, mistakes);
        let rate = rate(&args, mistakes);
        let (unique, coalesce) = unique::read(&mut args, fields, &kind, mistakes);
        let (terms, chunk) = (terms(&args, mistakes), Chunk::read(&args, mistakes));
        let aliases = args.aliases.map(|aliases| aliases.value).unwrap_or_default();
        Self {
            name: name.clone(),
            aliases: distinct(&aliases, &kind, mistakes),
            version,
            upcasts: upcasts(args.upcast, version, is_meant, mistakes),
            queue: args.queue.map(|name| kind::stored(&name.value, QUEUE, mistakes)),
            priority: integer(args.priority.as_ref(), &PRIORITY, mistakes),
            max_attempts: integer(args.max_attempts.as_ref(), &ATTEMPTS, mistakes),
            terms,
            backoff: args.backoff.and_then(|given| mistakes.sift(Backoff::read(&given.value))),
            auto_replay: auto_replay(args.auto_replay.as_ref(), args.max_cycles.as_ref(), mistakes),
            dead_letter_key: args.dead_letter_key.map(|it| key::unquoted(it, fields, mistakes)),
            concurrency: concurrency(
                key_or_kind(args.concurrency_key, rate.is_some(), &kind, fields, mistakes),
                args.concurrency_group.as_ref(),
                args.concurrency_limit.as_ref(),
                rate.is_some(),
                &kind,
                mistakes,
            ),
            rate,
            unique,
            coalesce,
            chunk,
            hidden,
            result: args.result.map(|given| given.value),
            schedule: args.schedule.and_then(|given| schedule::read(given.value, mistakes)),
            topic,
            kind,
        }
    }
}

/// The kind that is given, or that of the struct.
fn kind_of(name: &Ident, args: &Args, mistakes: &mut Mistakes) -> String {
    match &args.kind {
        Some(kind) => kind::unversioned(&kind.value, "the kind", mistakes),
        None if args.mentions("kind") => String::new(),
        None => kind::of_struct(name, mistakes),
    }
}

/// Refuses arguments whose main argument is missing.
fn refuse_dependent(args: &Args, mistakes: &mut Mistakes) {
    refuse_keyless(args, mistakes);
    refuse_cycles_alone(args, mistakes);
    refuse_burst_alone(args, mistakes);
    result::refuse_unkept(args, mistakes);
    unique::refuse_keyless(args, mistakes);
}

/// A limit or a group needs a key. With a rate and without a key, all jobs of the kind share one
/// key.
fn refuse_keyless(args: &Args, mistakes: &mut Mistakes) {
    if args.mentions("concurrency_key") || args.mentions("rate") {
        return;
    }
    let limit = args.concurrency_limit.as_ref().map(|limit| &limit.name);
    let group = args.concurrency_group.as_ref().map(|group| &group.name);
    for name in [limit, group].into_iter().flatten() {
        mistakes.add(
            name,
            format_args!(
                "`{name}` needs a key: add `concurrency_key = self.account_id`, or \
                 `concurrency_key = \"all\"` for one key shared by every job"
            ),
        );
    }
}

/// A number of cycles needs an automatic replay.
fn refuse_cycles_alone(args: &Args, mistakes: &mut Mistakes) {
    let replayed = match &args.auto_replay {
        Some(after) => after.value.is_some(),
        None => args.mentions("auto_replay"),
    };
    if let Some(Given { name, .. }) = args.max_cycles.as_ref().filter(|_| !replayed) {
        mistakes.add(
            name,
            format_args!(
                "`{name}` limits automatic replays: add `auto_replay = \"1h\"`, or leave `{name}` \
                 out"
            ),
        );
    }
}

fn rate(args: &Args, mistakes: &mut Mistakes) -> Option<Rate> {
    let burst = integer(args.burst.as_ref(), &BURST, mistakes);
    mistakes.sift(Rate::read(&args.rate.as_ref()?.value, burst))
}

/// The concurrency key; with a rate and without a key, one key for all jobs of the kind.
fn key_or_kind(
    given: Option<Given<Expr>>,
    has_rate: bool,
    kind: &str,
    fields: &Fields,
    mistakes: &mut Mistakes,
) -> Option<Expr> {
    match given {
        Some(given) => Some(key::unquoted(given, fields, mistakes)),
        None => has_rate.then(|| parse_quote!(#kind)),
    }
}

/// A burst needs a rate.
fn refuse_burst_alone(args: &Args, mistakes: &mut Mistakes) {
    if let Some(Given { name, .. }) = args.burst.as_ref().filter(|_| !args.mentions("rate")) {
        mistakes.add(name, format_args!("`{name}` needs a rate: add `rate = \"100/min\"`"));
    }
}

fn auto_replay(
    after: Option<&Given<Option<LitStr>>>,
    max_cycles: Option<&Given<Integer>>,
    mistakes: &mut Mistakes,
) -> Option<AutoReplay> {
    let max_cycles = integer(max_cycles, &CYCLES, mistakes).unwrap_or(DEFAULT_CYCLES);
    match term(after?, &REPLAY, mistakes)? {
        Term::None => None,
        Term::Some(after) => Some(AutoReplay { after, max_cycles }),
    }
}

fn concurrency(
    key: Option<Expr>,
    group: Option<&Given<LitStr>>,
    limit: Option<&Given<Integer>>,
    has_rate: bool,
    kind: &str,
    mistakes: &mut Mistakes,
) -> Option<Concurrency> {
    let group = group.map(|group| kind::stored(&group.value, "the group name", mistakes));
    let limit = integer(limit, &LIMIT, mistakes);
    Some(Concurrency {
        key: key?,
        group: group.unwrap_or_else(|| kind.to_owned()),
        limit: limit.unwrap_or(if has_rate { UNLIMITED } else { 1 }),
    })
}

/// Checks each version, and that it is an earlier one.
fn upcasts(
    upcast: Option<Given<Vec<Upcast>>>,
    newest: Option<u16>,
    is_meant: bool,
    mistakes: &mut Mistakes,
) -> Vec<(u16, Expr)> {
    let Some(Given { name, value: list }) = upcast else { return Vec::new() };
    if !is_meant {
        let numbers = list.iter().filter_map(|upcast| upcast.number.base10_parse::<u16>().ok());
        let next = numbers.max().unwrap_or(1).saturating_add(1);
        let message = format_args!(
            "`upcast` reads versions older than this struct: add `version = {next}` for the struct \
             itself"
        );
        mistakes.add(name, message);
    }
    let mut upcasts: Vec<(u16, Expr)> = Vec::new();
    for Upcast { number, function } in list {
        let earlier = 1..newest.unwrap_or(u16::MAX);
        match number.base10_parse().ok().filter(|number| earlier.contains(number)) {
            Some(version) if upcasts.iter().any(|(known, _)| *known == version) => {
                let message = format_args!("version {version} is in the list twice: keep one");
                mistakes.add(number, message);
            }
            Some(version) => upcasts.push((version, function)),
            None => mistakes.add(number, earlier_than(newest)),
        }
    }
    upcasts
}

fn earlier_than(newest: Option<u16>) -> String {
    match newest {
        Some(1) => "there is no version before 1: leave `upcast` out, or raise the `version` of \
                    this struct"
            .to_owned(),
        Some(newest) => {
            format!("`upcast` takes versions before `version = {newest}`: `1` to `{}`", newest - 1)
        }
        None => "a version is a number from `1` to `32767`".to_owned(),
    }
}

/// Checks each alias, and that none is a duplicate or the kind itself.
fn distinct(aliases: &[LitStr], kind: &str, mistakes: &mut Mistakes) -> Vec<String> {
    let mut names = Vec::new();
    for alias in aliases {
        let name = kind::unversioned(alias, "an alias", mistakes);
        if name == kind && !name.is_empty() {
            let message = format_args!("`{name}` is the kind itself: leave it out");
            mistakes.add(alias, message);
        } else if names.contains(&name) {
            mistakes.add(alias, format_args!("`{name}` is in the list twice: keep one of them"));
        }
        names.push(name);
    }
    names
}

/// The settings that are durations.
fn terms(args: &Args, mistakes: &mut Mistakes) -> Vec<(&'static str, Term)> {
    let mut terms = Vec::new();
    for (name, given, purpose) in
        [("timeout", &args.timeout, &TIMEOUT), ("retention", &args.retention, &RETENTION)]
    {
        let term = given.as_ref().and_then(|given| term(given, purpose, mistakes));
        terms.extend(term.map(|term| (name, term)));
    }
    for (name, given, purpose) in [
        ("expires", &args.expires, &EXPIRES),
        ("retry_for", &args.retry_for, &RETRY_FOR),
        ("retention_discarded", &args.retention_discarded, &RETENTION),
    ] {
        let read = given.as_ref().map(|given| duration::read(&given.value, purpose));
        let length = read.and_then(|read| mistakes.sift(read));
        terms.extend(length.map(|length| (name, Term::Some(length))));
    }
    terms
}

fn term(given: &Given<Option<LitStr>>, purpose: &Purpose, mistakes: &mut Mistakes) -> Option<Term> {
    match &given.value {
        None => Some(Term::None),
        Some(text) => mistakes.sift(duration::read(text, purpose)).map(Term::Some),
    }
}
