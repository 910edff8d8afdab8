//! A text, and the texts that it becomes once its escapes are decoded; each maps back to places in
//! it.

use std::ops::Range;

use super::forms::{Needles, lower};

/// A character, and the bytes of the text that it is read from.
#[derive(Clone, Copy)]
struct Unit {
    c: char,
    from: usize,
    to: usize,
}

/// A text, decoded in one way.
pub(super) struct View(Vec<Unit>);

/// Reads an escape: the character it stands for, and how many it is written with.
type Escape = fn(&[Unit]) -> Option<(char, usize)>;

impl View {
    /// All views of a text.
    pub(super) fn all(text: &str) -> Vec<Self> {
        let unit = |(from, c): (usize, char)| Unit { c, from, to: from + c.len_utf8() };
        let mut all = vec![Self(text.char_indices().map(unit).collect())];
        // Escaped text may be escaped again: `"{\"a\":\"b\"}"`, `%2520`.
        for _ in 0..2 {
            all.extend(all.last().and_then(|view| view.read(backslash)));
        }
        for at in 0..all.len() {
            for escape in [percent, form, html] {
                let Some(view) = all[at].read(escape) else { continue };
                all.extend(view.read(escape));
                all.push(view);
            }
        }
        all
    }

    /// This text with its escapes decoded; `None` if it has none.
    fn read(&self, escape: Escape) -> Option<Self> {
        let (mut units, mut at, mut any) = (Vec::with_capacity(self.0.len()), 0, false);
        while let Some(first) = self.0.get(at) {
            let read = escape(&self.0[at..]);
            any |= read.is_some();
            let (c, length) = read.unwrap_or((first.c, 1));
            units.push(Unit { c, from: first.from, to: self.0[at + length - 1].to });
            at += length;
        }
        any.then_some(Self(units))
    }

    /// Adds the places in the text where these are.
    pub(super) fn find(&self, needles: &Needles, found: &mut Vec<Range<usize>>) {
        let place = |from: usize, to: usize| self.0[from].from..self.0[to - 1].to;
        for text in &needles.texts {
            let places = self.places(text, |c, sought| lower(c) == sought);
            found.extend(places.map(|from| place(from, from + text.len())));
        }
        for text in &needles.base64 {
            for at in self.places(text, |c, sought| standard(c) == sought) {
                let (before, behind) = (&self.0[..at], &self.0[at + text.len()..]);
                let run = |unit: &&Unit| is_base64(unit.c);
                let from = at - before.iter().rev().take_while(run).count();
                found.push(place(from, at + text.len() + behind.iter().take_while(run).count()));
            }
        }
    }

    fn places(
        &self,
        text: &[char],
        alike: impl Fn(char, char) -> bool,
    ) -> impl Iterator<Item = usize> {
        let windows = self.0.windows(text.len().max(1)).enumerate();
        windows.filter_map(move |(at, units)| {
            units.iter().zip(text).all(|(unit, sought)| alike(unit.c, *sought)).then_some(at)
        })
    }
}

/// A character of URL-safe base64 in the standard alphabet.
fn standard(c: char) -> char {
    match c {
        '-' => '+',
        '_' => '/',
        c => c,
    }
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/-_=".contains(c)
}

/// The number in this many hexadecimal digits.
fn hex(units: &[Unit], digits: usize) -> Option<u32> {
    let digits = units.get(..digits).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0_u32, |sum, unit| Some((sum << 4) | unit.c.to_digit(16)?))
}

/// The characters up to this one.
fn until(units: &[Unit], end: char, most: usize) -> Option<&[Unit]> {
    let length = units.iter().take(most).position(|unit| unit.c == end)?;
    Some(&units[..length])
}

/// As JSON and `Debug` escape.
fn backslash(units: &[Unit]) -> Option<(char, usize)> {
    let [Unit { c: '\\', .. }, Unit { c, .. }, rest @ ..] = units else { return None };
    let plain = match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '\\' | '"' | '\'' | '/' => *c,
        'x' => return Some((char::from_u32(hex(rest, 2)?)?, 4)),
        'u' if rest.first().is_some_and(|unit| unit.c == '{') => {
            let digits = until(&rest[1..], '}', 7)?;
            return Some((char::from_u32(hex(digits, digits.len())?)?, digits.len() + 4));
        }
        'u' => return utf16(rest),
        _ => return None,
    };
    Some((plain, 2))
}

/// Behind `\u`: four digits, or a pair.
fn utf16(units: &[Unit]) -> Option<(char, usize)> {
    let high = hex(units, 4)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 6));
    }
    let [Unit { c: '\\', .. }, Unit { c: 'u', .. }, rest @ ..] = &units[4..] else { return None };
    let pair = [u16::try_from(high).ok()?, u16::try_from(hex(rest, 4)?).ok()?];
    char::decode_utf16(pair).next()?.ok().map(|c| (c, 12))
}

/// As URLs escape.
fn percent(units: &[Unit]) -> Option<(char, usize)> {
    let byte = |units: &[Unit]| match units {
        [Unit { c: '%', .. }, digits @ ..] => u8::try_from(hex(digits, 2)?).ok(),
        _ => None,
    };
    let mut bytes = Vec::new();
    while bytes.len() < 4 {
        bytes.push(byte(&units[3 * bytes.len()..])?);
        if let Ok(text) = str::from_utf8(&bytes) {
            return Some((text.chars().next()?, 3 * bytes.len()));
        }
    }
    None
}

/// As forms do: the same, and a plus for a blank.
fn form(units: &[Unit]) -> Option<(char, usize)> {
    if units.first()?.c == '+' { Some((' ', 1)) } else { percent(units) }
}

/// As HTML and XML escape.
fn html(units: &[Unit]) -> Option<(char, usize)> {
    let [Unit { c: '&', .. }, rest @ ..] = units else { return None };
    let name: String = until(rest, ';', 10)?.iter().map(|unit| unit.c).collect();
    let number = name.strip_prefix('#').and_then(|digits| match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    });
    let c = match &*name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => char::from_u32(number?)?,
    };
    Some((c, name.chars().count() + 2))
}
