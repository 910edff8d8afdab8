//! Text that means to do harm.

use std::time::Instant as Clock;

use super::*;

/// What hostile text is made of.
const PARTS: [&str; 28] = [
    "*",
    "*/5",
    "0",
    "59",
    "31",
    "2",
    "L",
    "W",
    "15W",
    "#",
    "MON#5",
    "SUNL",
    "?",
    "/",
    "-",
    ",",
    "1-5",
    "5-1",
    "*/0",
    "99999999999",
    "JAN",
    "@daily",
    "@",
    "+MON",
    "Europe/Berlin",
    "every",
    "29",
    " ",
];

/// Fields, most of which are right.
const FIELDS: [&str; 12] = ["*", "*", "*", "*/7", "0", "2", "1-5", "3,5", "5/2", "29", "31", "L"];

/// Text that looks like cron, more or less.
fn hostile(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    if random.bool() {
        for _ in 0..random.usize(5..7) {
            text.push_str(FIELDS[random.usize(..FIELDS.len())]);
            text.push(' ');
        }
        return text;
    }
    for _ in 0..random.usize(0..9) {
        for _ in 0..random.usize(1..4) {
            match random.u8(0..20) {
                0 => text.push(random.char(..)),
                1 => text.push(char::from(random.u8(32..127))),
                _ => text.push_str(PARTS[random.usize(..PARTS.len())]),
            }
            if random.u8(0..3) > 0 {
                break;
            }
        }
        text.push(' ');
    }
    text
}

/// Reads a text, and what comes before and after a time; whether it could be read, and how long
/// that took.
fn read(text: &str) -> (bool, Duration) {
    let (began, now) = (Clock::now(), at("2026-11-25T12:34:56Z"));
    let times = text.parse::<Times>();
    if let Ok(times) = &times {
        assert!(times.next_after(now).is_some(), "{text:?} ends");
        let _last = times.last_until(now);
    }
    (times.is_ok(), began.elapsed())
}

/// `JOBKIT_CRON_TEXTS` says how many there are; then they are other ones each time.
#[test]
fn hostile_text_neither_panics_nor_takes_long() {
    let many = std::env::var("JOBKIT_CRON_TEXTS").ok().and_then(|text| text.parse().ok());
    let mut random =
        many.map_or_else(|| fastrand::Rng::with_seed(42), |_: u32| fastrand::Rng::new());
    // Without optimisation it takes some ten times as long.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 10 });
    let (mut known, mut slowest) = (0, (Duration::ZERO, String::new()));
    for _ in 0..many.unwrap_or(20_000) {
        let text = hostile(&mut random);
        let (is_known, mut took) = read(&text);
        known += u32::from(is_known);
        // One that was held up by something else is quick when it is read again.
        for _ in 0..3 {
            took = if took < limit { took } else { took.min(read(&text).1) };
        }
        slowest = slowest.max((took, text));
    }
    assert!(known > 500, "{known}");
    println!("{known} were read; the slowest: {slowest:?}");
    assert!(slowest.0 < limit, "{slowest:?}");
}
