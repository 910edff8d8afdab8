use fastrand::Rng;

use super::super::query::{JobQuery, Listing};
use super::super::summary::Ended;
use crate::{BatchId, JobId};

fn parse(text: &str) -> JobQuery {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn words_become_conditions() {
    let query = parse(
        "  state:running kind:charge_card queue:mail\ttag:\"very \\\"urgent\\\" \\\\ \" group:g \
         key:a:b/c error:\"no route\" \
         ended:expire worker:1f batch:7 id:17 args.account.id:9007199254740993 \
         args.\"a: b\":\"x y\" ",
    );
    let text = |text: &str| Some(text.to_owned());
    let pair = |path: &str, value: &str| (path.to_owned(), value.to_owned());
    let expected = JobQuery {
        listing: Listing::Running,
        kind: text("charge_card"),
        queue: text("mail"),
        tag: text("very \"urgent\" \\ "),
        group: text("g"),
        key: text("a:b/c"),
        error: text("no route"),
        ended: Some(Ended::Expired),
        worker: Some(0x1f),
        batch: Some(BatchId(7)),
        id: Some(JobId(17)),
        args: vec![pair("account.id", "9007199254740993"), pair("a: b", "x y")],
        reveal: false,
    };
    assert_eq!(query, expected);
    assert_eq!(parse(""), JobQuery::default());
    assert_eq!(parse(" -17 "), JobQuery { id: Some(JobId(-17)), ..JobQuery::default() });
    assert_eq!(parse(r#"key:"""#).key.as_deref(), Some(""));
    assert_eq!(parse("ended:supersede").listing, Listing::Discarded);
}

#[test]
fn a_mistake_is_named_by_its_word() {
    for (text, word, what) in [
        ("kind:a receipt", "receipt", "no qualifier"),
        ("kind:a \"re ceipt\"", "\"re", "no qualifier"),
        ("knid:a queue:b", "knid:a", "there is no qualifier `knid`"),
        ("knid:", "knid:", "there is no qualifier `knid`"),
        ("kind: queue:b", "kind:", "no value"),
        ("kind:a kind:b", "kind:b", "`kind` is given twice"),
        ("state:ready state:ready", "state:ready", "`state` is given twice"),
        ("id:1 2", "2", "`id` is given twice"),
        ("queue:b state:dead", "state:dead", "the states are live, ready, scheduled"),
        ("ended:expired", "ended:expired", "the outcomes are finish, discard"),
        ("id:x7", "id:x7", "a number"),
        ("id:9223372036854775808", "id:9223372036854775808", "a number"),
        ("worker:host", "worker:host", "hexadecimal"),
        ("batch:a", "batch:a", "a batch is a number"),
        ("tag:\"a b", "tag:\"a b", "not closed"),
        ("tag:\"a b\\", "tag:\"a b\\", "not closed"),
        ("tag:\"a b\"c id:1", "tag:\"a b\"c", "a space has to follow"),
        ("args.:7", "args.:7", "no path"),
        ("args.a 7", "args.a", "a `:` has to follow"),
        ("args.a: 7", "args.a:", "no value"),
        ("args.a:1 args.a:2", "args.a:2", "twice"),
        (":a", ":a", "there is no qualifier ``"),
    ] {
        let error = text.parse::<JobQuery>().expect_err(text);
        assert_eq!(error.word(), word, "{text}: {error}");
        assert!(error.to_string().contains(what), "{text}: {error}");
    }
}

/// Texts with all that has a meaning in the language.
fn text(rng: &mut Rng) -> String {
    let letters: Vec<char> = "ab.:\"\\ \t\nü/7•".chars().collect();
    (0..rng.usize(1..6)).map(|_| letters[rng.usize(..letters.len())]).collect()
}

fn random(rng: &mut Rng) -> JobQuery {
    let maybe = |rng: &mut Rng| rng.bool().then(|| text(rng));
    let mut query = JobQuery {
        listing: Listing::ALL[rng.usize(..Listing::ALL.len())],
        kind: maybe(rng),
        queue: maybe(rng),
        tag: maybe(rng),
        group: maybe(rng),
        key: rng.bool().then(|| if rng.bool() { String::new() } else { text(rng) }),
        error: maybe(rng),
        ended: rng.bool().then(|| Ended::ALL[rng.usize(..Ended::ALL.len())]),
        worker: rng.bool().then(|| rng.i64(..)),
        batch: rng.bool().then(|| BatchId(rng.i64(..))),
        id: rng.bool().then(|| JobId(rng.i64(..))),
        ..JobQuery::default()
    };
    for _ in 0..rng.usize(..3) {
        let path = text(rng);
        if query.args.iter().all(|(known, _)| *known != path) {
            query.args.push((path, text(rng)));
        }
    }
    query
}

#[test]
fn what_is_shown_parses_into_the_same_query() {
    let mut seed = Rng::new();
    for seed in [1, 2, 3, seed.u64(..)] {
        let mut rng = Rng::with_seed(seed);
        for _ in 0..2_000 {
            let query = random(&mut rng);
            let shown = query.to_string();
            assert_eq!(shown.parse().as_ref(), Ok(&query), "seed {seed}: {shown}");
        }
    }
}

#[test]
fn no_text_whatever_is_taken_for_more_than_it_says() {
    let mut rng = Rng::with_seed(7);
    let parts = ["kind:", "args.", "id:", "state:ready", "\"", "\\", " ", "x", "7", ":", "."];
    for _ in 0..20_000 {
        let text: String = (0..8).map(|_| parts[rng.usize(..parts.len())]).collect();
        if let Ok(query) = text.parse::<JobQuery>() {
            assert_eq!(query.to_string().parse(), Ok(query), "{text}");
        }
    }
}
