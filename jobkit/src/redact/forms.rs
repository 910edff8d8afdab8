//! How a value is looked for.

/// The texts that reveal a value.
pub(super) struct Needles {
    /// In any case; here in lower case.
    pub(super) texts: Vec<Vec<char>>,
    /// In the standard alphabet, case-sensitive.
    pub(super) base64: Vec<Vec<char>>,
}

/// The shortest base64 text that reveals something.
const SHORTEST: usize = 4;

/// The needles of this value, which is not empty.
pub(super) fn of(value: &str) -> Needles {
    let bytes = value.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = format!("{bytes:?}");
    let texts = [value, &hex, debug.trim_matches(['[', ']'])];
    let base64 = (0..3).map(|before| base64(before, bytes)).filter(|text| text.len() >= SHORTEST);
    Needles {
        texts: texts.map(|text| text.chars().map(lower).collect()).into(),
        base64: base64.collect(),
    }
}

/// What the base64 of a text is sure to contain, with this many bytes (mod 3) before the value.
fn base64(before: usize, value: &[u8]) -> Vec<char> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(value.iter().copied()).collect();
    let sextet = |at: usize| {
        let (byte, bit) = (at * 6 / 8, at * 6 % 8);
        let pair = u16::from_be_bytes([bytes[byte], bytes.get(byte + 1).copied().unwrap_or(0)]);
        char::from(ALPHABET[usize::from(pair >> (10 - bit) & 63)])
    };
    // Only digits all of whose bits are the value's.
    ((before * 8).div_ceil(6)..bytes.len() * 8 / 6).map(sextet).collect()
}

/// A letter without its case.
pub(super) fn lower(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { c.to_lowercase().next().unwrap_or(c) }
}
