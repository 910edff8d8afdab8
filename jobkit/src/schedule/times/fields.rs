//! The fields of a cron expression, read more strictly than the search needs: what other programs
//! interpret differently is refused, with what to write instead.

use super::TimesError;

/// A field, and its valid values.
struct Field {
    name: &'static str,
    first: u16,
    last: u16,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: [Field; 6] = [
    Field { name: "second", first: 0, last: 59, names: &[] },
    Field { name: "minute", first: 0, last: 59, names: &[] },
    Field { name: "hour", first: 0, last: 23, names: &[] },
    Field { name: "day", first: 1, last: 31, names: &[] },
    Field { name: "month", first: 1, last: 12, names: &MONTHS },
    Field { name: "weekday", first: 0, last: 7, names: &WEEKDAYS },
];

/// Rewrites the expression in numbers, for croner.
pub(super) fn read(text: &str) -> Result<String, TimesError> {
    let given: Vec<&str> = text.split(' ').filter(|field| !field.is_empty()).collect();
    if !(5..=6).contains(&given.len()) {
        return Err(TimesError(format!(
            "expected the 5 or 6 fields of cron, found {}: write `0 3 * * * Europe/Berlin`, \
             `@daily` or `every 15m`",
            given.len()
        )));
    }
    let fields = &FIELDS[FIELDS.len() - given.len()..];
    let read: Result<Vec<String>, String> =
        fields.iter().zip(&given).map(|(field, given)| field.read(given)).collect();
    let read = read.and_then(|read| both_days(&given, &read).map(|()| read));
    let read =
        read.map_err(|why| TimesError(format!("`{text}` is not a cron expression: {why}")))?;
    Ok(read.join(" "))
}

/// Checks days of the month beside weekdays: if one of the fields begins with a star, cron itself
/// requires a day to match both, while most other programs accept either.
fn both_days(given: &[&str], read: &[String]) -> Result<(), String> {
    let [.., day, _, weekday] = given else { return Ok(()) };
    let [.., days, _, weekdays] = read else { return Ok(()) };
    let (restricted, starred) = (|field: &str| field != "*", |field: &str| field.starts_with('*'));
    if weekdays.starts_with('+') && !restricted(days) {
        return Err(format!(
            "`{weekday}` requires a day of the month to match as well, and every one does: leave \
             out `+`"
        ));
    }
    let ambiguous = restricted(days)
        && restricted(weekdays)
        && !weekdays.starts_with('+')
        && (starred(days) || starred(weekdays));
    if !ambiguous {
        return Ok(());
    }
    Err(format!(
        "given `{day}` and `{weekday}`, cron requires a day to match both, while other programs \
         accept either: write `+{weekday}` to require both, `1-31/2` instead of `*/2` to accept \
         either, or `SUN#1` for the first Sunday"
    ))
}

impl Field {
    fn is_day(&self) -> bool {
        self.name == "day"
    }

    fn is_weekday(&self) -> bool {
        self.name == "weekday"
    }

    fn read(&self, given: &str) -> Result<String, String> {
        let upper = given.to_ascii_uppercase();
        if upper == "?" && (self.is_day() || self.is_weekday()) {
            return Ok("*".to_owned());
        }
        let (both, list) = match upper.strip_prefix('+').filter(|_| self.is_weekday()) {
            Some(list) => ("+", list),
            None => ("", &*upper),
        };
        let items: Vec<&str> = list.split(',').collect();
        if items.len() > 1 && items.contains(&"*") {
            let name = self.name;
            return Err(format!("`{given}` is every {name}: write `*`, or leave the star out"));
        }
        let items: Result<Vec<String>, String> = items.iter().map(|item| self.item(item)).collect();
        Ok([both, &items?.join(",")].concat())
    }

    /// One item of a list.
    fn item(&self, item: &str) -> Result<String, String> {
        if item.is_empty() {
            let name = self.name;
            return Err(format!("the {name} field has an empty item: remove the comma"));
        }
        if let Some((range, step)) = item.split_once('/') {
            return self.stepped(item, range, step);
        }
        if item == "*" {
            return Ok(item.to_owned());
        }
        if let Some(special) = self.special(item)? {
            return Ok(special);
        }
        if let Some((first, last)) = item.split_once('-') {
            let (first, last) = self.range(item, first, last)?;
            return Ok(format!("{first}-{last}"));
        }
        self.value(item).map(|value| value.to_string())
    }

    /// `L`, `LW` and `15W` of a day; `FRIL` and `MON#1` of a weekday.
    fn special(&self, item: &str) -> Result<Option<String>, String> {
        if self.is_day() {
            if item == "L" || item == "LW" {
                return Ok(Some(item.to_owned()));
            }
            let Some(day) = item.strip_suffix('W') else { return Ok(None) };
            return Ok(Some(format!("{}W", self.value(day)?)));
        }
        if !self.is_weekday() {
            return Ok(None);
        }
        if item == "L" {
            return Err(
                "`L` alone is not a weekday: write `SAT`, or `SATL` for the last in a month"
                    .to_owned(),
            );
        }
        if let Some((day, nth)) = item.split_once('#') {
            if nth != "L" && !matches!(nth.parse(), Ok(1..=5)) {
                return Err(format!("`{item}`: expected a number from 1 to 5, or `L`, after `#`"));
            }
            return Ok(Some(format!("{}#{nth}", self.value(day)?)));
        }
        let Some(day) = item.strip_suffix('L') else { return Ok(None) };
        Ok(Some(format!("{}#L", self.value(day)?)))
    }

    fn stepped(&self, item: &str, range: &str, step: &str) -> Result<String, String> {
        let number = number(step).filter(|step| *step > 0);
        let number =
            number.ok_or_else(|| format!("`{item}`: expected a number of at least 1 after `/`"))?;
        let (from, first, last) = if range == "*" {
            ("*".to_owned(), self.first, self.last)
        } else if let Some((first, last)) = range.split_once('-') {
            let (first, last) = self.range(range, first, last)?;
            (format!("{first}-{last}"), first, last)
        } else if range.is_empty() {
            return Err(format!("`{item}` has no start: write `*/{step}`"));
        } else {
            let first = self.value(range)?;
            let same = if first == self.first { format!("`*/{step}`, or ") } else { String::new() };
            let most = self.most();
            return Err(format!("`{item}` has no end: write {same}`{first}-{most}/{step}`"));
        };
        if number > last - first {
            return Err(format!("`{item}` matches only `{first}`: write that, or a smaller step"));
        }
        Ok(format!("{from}/{number}"))
    }

    fn range(&self, item: &str, first: &str, last: &str) -> Result<(u16, u16), String> {
        let (from, mut to) = (self.value(first)?, self.value(last)?);
        // Sunday ends a week as well as it begins one.
        if self.is_weekday() && to == 0 && from > 0 && last == "SUN" {
            to = 7;
        }
        if from > to {
            let most = self.most();
            let (begin, end) = (self.named(first, from, most), self.named(last, self.first, to));
            return Err(format!("`{item}` runs backwards: write `{begin},{end}`"));
        }
        Ok((from, to))
    }

    /// A part of a range that runs backwards, in names where it was.
    fn named(&self, given: &str, from: u16, to: u16) -> String {
        let is_name = given.starts_with(|c: char| c.is_ascii_alphabetic());
        let text = |value: u16| match self.names.get(usize::from(value - self.first)) {
            Some(name) if is_name => (*name).to_owned(),
            _ => value.to_string(),
        };
        if from == to { text(from) } else { format!("{}-{}", text(from), text(to)) }
    }

    /// The largest value that has no smaller one of the same meaning.
    fn most(&self) -> u16 {
        if self.is_weekday() { 6 } else { self.last }
    }

    fn value(&self, text: &str) -> Result<u16, String> {
        let (name, first, last) = (self.name, self.first, self.last);
        if let Some(place) = self.names.iter().position(|name| *name == text) {
            return Ok(first + u16::try_from(place).unwrap_or(0));
        }
        if let Some(value) = number(text) {
            let outside = || format!("`{text}` is not a valid {name}: use {first} to {last}");
            return Some(value).filter(|it| (first..=last).contains(it)).ok_or_else(outside);
        }
        let other = FIELDS.iter().find(|field| field.names.contains(&text));
        Err(match other {
            Some(other) => format!(
                "`{text}` is a {}, in the place of the {name}: the fields are minute, hour, day, \
                 month, weekday",
                other.name
            ),
            None if self.names.iter().any(|name| text.starts_with(name)) => {
                format!("`{text}` is not a valid {name}: write its first three letters")
            }
            None => format!("`{text}` is not a valid {name}"),
        })
    }
}

/// A number of at most four digits.
fn number(text: &str) -> Option<u16> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}
