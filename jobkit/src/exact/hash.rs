//! Numbers for values.

// What a digest begins with.
pub(super) const BOOL: u64 = 1;
pub(super) const INTEGER: u64 = 2;
pub(super) const WIDE: u64 = 3;
pub(super) const FLOAT: u64 = 4;
pub(super) const TEXT: u64 = 5;
pub(super) const BYTES: u64 = 6;
pub(super) const NONE: u64 = 7;
pub(super) const SOME: u64 = 8;
pub(super) const UNIT: u64 = 9;
pub(super) const VARIANT: u64 = 10;
pub(super) const LIST: u64 = 11;
pub(super) const FIELDS: u64 = 12;

pub(super) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}

pub(super) fn hash(start: u64, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let digest = chunks.iter().fold(mix(start, bytes.len() as u64), |digest, chunk| {
        mix(digest, u64::from_le_bytes(*chunk))
    });
    mix(digest, u64::from_le_bytes(last))
}

pub(super) fn float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value };
    mix(FLOAT, value.to_bits())
}
