//! When something recurs: the text, and the instants it stands for.
//!
//! `jobkit-macros` compiles this file as well (by a link), so that it accepts at compile time what
//! a worker reads. So it must not name anything else of jobkit.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use croner::{CivilDate, CivilDateTime, CivilTime, Cron, CronDateTime, Resolution, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ZonedDateTime, civil};

mod fields;
mod zones;

pub use self::zones::ZoneRules;

/// Longest text.
const TEXT_BYTES: usize = 200;

/// Longest time between two instants of `every`.
const LONGEST: i64 = 366 * DAY;
const DAY: i64 = 24 * 60 * 60;

/// How many local times one search may look up. A change of clock that skips an hour costs 3,600 of
/// them.
const LOOKS: u32 = 10_000;

/// How far apart instants may be: 29 February on a certain weekday comes after 40 years. Anything
/// later is an artefact: no clock changes are known that far ahead.
const REACH: TimeDelta = TimeDelta::days(50 * 366);

/// The short forms, as cron expressions.
const FORMS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The instants at which something recurs, written as text:
///
/// | text | means |
/// |---|---|
/// | `0 3 * * * Europe/Berlin` | cron: minute, hour, day, month, weekday; then a time zone |
/// | `*/10 * * * * *` | six fields: the first is seconds; without a zone, UTC |
/// | `@daily America/New_York` | `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` |
/// | `every 15m` | `s`, `m`, `h` or `d`: its whole multiples since the start of 1970, UTC |
#[derive(Clone)]
pub struct Times {
    text: String,
    rule: Rule,
}

#[derive(Clone)]
enum Rule {
    Cron(Box<Cron>, TimeZone),
    /// This many seconds.
    Every(i64),
}

/// Why a text is not a valid schedule, with advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimesError(String);

impl fmt::Display for TimesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TimesError {}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Times").field(&self.text).finish()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Times {
    type Err = TimesError;

    /// Reads the text. Times that never occur, such as 30 February, are refused.
    fn from_str(text: &str) -> Result<Self, TimesError> {
        if text.len() > TEXT_BYTES {
            return Err(TimesError(format!("it is longer than {TEXT_BYTES} bytes")));
        }
        let fields: Vec<&str> = text.split(' ').filter(|field| !field.is_empty()).collect();
        refuse_zone_of_others(&fields)?;
        let is_ours = |c: char| c.is_ascii_alphanumeric() || " *,-/?#+@_".contains(c);
        if let Some(other) = text.chars().find(|c| !is_ours(*c)) {
            let other = other.escape_default();
            return Err(TimesError(format!("unexpected character `{other}`: remove it")));
        }
        let rule = match *fields {
            ["every" | "@every", length] => Rule::Every(length_of(length)?),
            ["every" | "@every", length, ..] => {
                length_of(length)?;
                return Err(TimesError(format!(
                    "`every {length}` counts elapsed time, and takes no zone: remove what comes \
                     after it, or write `0 3 * * * Europe/Berlin`"
                )));
            }
            [form, ref zone @ ..] if form.starts_with('@') => {
                let known = FORMS.iter().find(|(name, _)| *name == form);
                let (_, cron) = known.ok_or_else(|| TimesError(unknown_form(form)))?;
                match *zone {
                    [] => cron_of(cron, TimeZone::UTC)?,
                    [zone] => cron_of(cron, zone_of(zone)?)?,
                    _ => return Err(TimesError(format!("only a zone may follow `{form}`"))),
                }
            }
            [ref cron @ .., last] if has_zone(cron.len(), last) => {
                cron_of(&cron.join(" "), zone_of(last)?)?
            }
            _ => cron_of(&fields.join(" "), TimeZone::UTC)?,
        };
        Ok(Self { text: fields.join(" "), rule })
    }
}

impl Times {
    /// The first instant after this time; `None` if there is none within reach.
    #[must_use]
    pub fn next_after(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let time = whole(time)?;
        match &self.rule {
            Rule::Every(seconds) => {
                DateTime::from_timestamp((time.timestamp().div_euclid(*seconds) + 1) * seconds, 0)
            }
            Rule::Cron(cron, zone) => {
                let found = cron.find_next_occurrence(&Local::new(time, zone)?, false).ok()?;
                found.utc().filter(|next| *next - time <= REACH)
            }
        }
    }

    /// The last instant up to and including this time.
    #[must_use]
    pub fn last_until(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let time = whole(time)?;
        match &self.rule {
            Rule::Every(seconds) => {
                DateTime::from_timestamp(time.timestamp().div_euclid(*seconds) * seconds, 0)
            }
            Rule::Cron(cron, zone) => {
                cron.find_previous_occurrence(&Local::new(time, zone)?, true).ok()?.utc()
            }
        }
    }

    /// The name of the time zone; `None` for `every`, which has none.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        match &self.rule {
            Rule::Cron(_, zone) => zone.iana_name(),
            Rule::Every(_) => None,
        }
    }
}

/// Instants are whole seconds.
fn whole(time: DateTime<Utc>) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(time.timestamp(), 0)
}

fn length_of(length: &str) -> Result<i64, TimesError> {
    let digits = length.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &length[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => DAY,
        _ => 0,
    };
    let number = digits.parse::<u32>().map_or(0, i64::from);
    let seconds = number.saturating_mul(unit);
    if (1..=LONGEST).contains(&seconds) {
        return Ok(seconds);
    }
    Err(TimesError(format!(
        "`{length}` is not an interval: write a number with `s`, `m`, `h` or `d`, such as \
         `every 15m`, at most 366 days"
    )))
}

fn unknown_form(form: &str) -> String {
    let forms = FORMS.map(|(form, _)| format!("`{form}`")).join(", ");
    format!("unknown form `{form}`: write {forms} or `every 15m`")
}

/// Whether the last field, after this many others, is a zone.
fn has_zone(before: usize, last: &str) -> bool {
    const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    let is_weekday = |last: &str| {
        WEEKDAYS.iter().any(|day| last.get(..3).is_some_and(|l| l.eq_ignore_ascii_case(day)))
    };
    let is_word = last.len() > 1 && last.starts_with(|c: char| c.is_ascii_alphabetic());
    before > 5 || before == 5 && is_word && !is_weekday(last)
}

fn zone_of(name: &str) -> Result<TimeZone, TimesError> {
    ZoneRules::current().zone(name)
}

/// Refuses a zone in the place or form of other programs.
fn refuse_zone_of_others(fields: &[&str]) -> Result<(), TimesError> {
    let first = fields.first().and_then(|first| first.split_once('='));
    if let Some((_, zone)) = first.filter(|(name, _)| name.ends_with("TZ")) {
        let zone = if zone.is_empty() { "Europe/Berlin" } else { zone };
        return Err(TimesError(format!("the zone comes last: write `0 3 * * * {zone}`")));
    }
    match fields.last() {
        Some(last) if zones::is_offset(last) => zone_of(last).map(drop),
        _ => Ok(()),
    }
}

fn cron_of(text: &str, zone: TimeZone) -> Result<Rule, TimesError> {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    let cron = parser.parse(&fields::read(text)?).map_err(|error| {
        let error = error.to_string();
        let why = error.split_once(": ").map_or(&*error, |(_, why)| why);
        TimesError(format!("`{text}` is not a cron expression: {}", why.trim_end_matches('.')))
    })?;
    let never = || TimesError(format!("`{text}` never occurs: there is no such day or hour"));
    if !has_a_day(&cron) {
        return Err(never());
    }
    let times = Times { text: String::new(), rule: Rule::Cron(Box::new(cron), zone) };
    // The day exists, but the hour is always one that the zone skips.
    times.next_after(DateTime::UNIX_EPOCH + TimeDelta::days(20_000)).ok_or_else(never)?;
    Ok(times.rule)
}

/// Whether any day matches. Within 28 years every date falls on every weekday that it can; croner
/// would search until the year 5000.
fn has_a_day(cron: &Cron) -> bool {
    let matches = |day: &NaiveDate| {
        let weekday = Weekday::from_days_from_sunday(day.weekday().num_days_from_sunday());
        let pattern = &cron.pattern;
        pattern.month_match(day.month()).unwrap_or(false)
            && pattern.day_match(day.year(), day.month(), day.day(), weekday).unwrap_or(false)
    };
    let first = NaiveDate::from_ymd_opt(2000, 1, 1).unwrap_or_default();
    first.iter_days().take(28 * 366).any(|day| matches(&day))
}

/// A time in a zone, with a bound on the lookups of each search.
#[derive(Debug, Clone)]
struct Local {
    at: ZonedDateTime,
    looks: Rc<Cell<u32>>,
}

impl Local {
    fn new(time: DateTime<Utc>, zone: &TimeZone) -> Option<Self> {
        let at = Timestamp::from_second(time.timestamp()).ok()?.to_zoned_datetime(zone.clone());
        Some(Self { at, looks: Rc::new(Cell::new(LOOKS)) })
    }

    fn with(&self, at: ZonedDateTime) -> Self {
        Self { at, looks: Rc::clone(&self.looks) }
    }

    fn utc(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(self.at.timestamp().as_second(), 0)
    }
}

/// Converts a civil time of croner to one of jiff.
fn civil_of(time: CivilDateTime) -> Option<civil::DateTime> {
    let part = |value: u32| i8::try_from(value).ok();
    let (month, day) = (part(time.month())?, part(time.day())?);
    let (hour, minute, second) = (part(time.hour())?, part(time.minute())?, part(time.second())?);
    let year = i16::try_from(time.year()).ok()?;
    civil::DateTime::new(year, month, day, hour, minute, second, 0).ok()
}

impl CronDateTime for Local {
    fn to_civil(&self) -> CivilDateTime {
        let (at, part) = (self.at.datetime(), |value: i8| u32::from(value.unsigned_abs()));
        let (month, day) = (part(at.month()), part(at.day()));
        CivilDateTime::new(
            CivilDate::from_parts_unchecked(at.year().into(), month, day),
            CivilTime::from_parts_unchecked(part(at.hour()), part(at.minute()), part(at.second())),
        )
    }

    fn civil_weekday(&self) -> Weekday {
        let days = self.at.weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(days.unsigned_abs().into())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let left = self.looks.get().checked_sub(1).ok_or(CronError::TimeSearchLimitExceeded)?;
        self.looks.set(left);
        let civil = civil_of(civil).ok_or(CronError::InvalidDate)?;
        let found = self.at.time_zone().to_ambiguous_zoned_datetime(civil);
        let at = |found: Result<ZonedDateTime, jiff::Error>| {
            found.map(|at| self.with(at)).map_err(|_| CronError::InvalidTime)
        };
        Ok(match found.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(at(found.unambiguous())?),
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(at(found.clone().earlier())?, at(found.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        Some(self.with(self.at.checked_add(SignedDuration::from_secs(seconds)).ok()?))
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.at.timestamp().cmp(&other.at.timestamp())
    }
}
