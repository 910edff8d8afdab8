//! Signatures as Standard Webhooks specifies them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Failure;

/// The prefix of a secret.
const PREFIX: &str = "whsec_";

/// How many bytes a secret may have.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A new secret for an endpoint: `whsec_` and 32 random bytes in base64. Keep it with the endpoint,
/// and show it to the receiver that verifies the signatures.
#[must_use]
pub fn new_secret() -> String {
    let secret: [u8; 32] = random();
    [PREFIX, &STANDARD.encode(secret)].concat()
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}

/// The header `webhook-signature`: a signature by each secret.
pub(crate) fn sign(
    secrets: &[String],
    id: &str,
    timestamp: u64,
    body: &str,
) -> Result<String, Failure> {
    // A full stop in the id would let one request be read as another.
    if id.is_empty() || id.contains(|c: char| !c.is_ascii_graphic() || c == '.') {
        return Err(Failure::Id);
    }
    if secrets.is_empty() {
        return Err(Failure::Secret);
    }
    let by_each = secrets.iter().map(|secret| {
        let mut mac = Hmac::<Sha256>::new_from_slice(&key(secret)?)
            .expect("a key of HMAC may have any length");
        mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
        Ok(["v1,", &STANDARD.encode(mac.finalize().into_bytes())].concat())
    });
    Ok(by_each.collect::<Result<Vec<_>, _>>()?.join(" "))
}

fn key(secret: &str) -> Result<Vec<u8>, Failure> {
    let key = STANDARD.decode(secret.strip_prefix(PREFIX).unwrap_or(secret));
    key.ok().filter(|key| BYTES.contains(&key.len())).ok_or(Failure::Secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of the Standard Webhooks 1.0.0 libraries, in each language.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &str = r#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn signed(secrets: &[&str], id: &str) -> Result<String, Failure> {
        let secrets: Vec<_> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        sign(&secrets, id, 1_614_265_330, BODY)
    }

    #[test]
    fn the_published_vector_is_met() {
        assert_eq!(signed(&[SECRET], ID).unwrap(), SIGNATURE);
        let bare = SECRET.strip_prefix("whsec_").unwrap();
        assert_eq!(signed(&[bare], ID).unwrap(), SIGNATURE);
    }

    #[test]
    fn two_secrets_make_two_signatures() {
        let new = new_secret();
        let both = signed(&[&new, SECRET], ID).unwrap();
        let (first, second) = both.split_once(' ').unwrap();
        assert_eq!((first, second), (&*signed(&[&new], ID).unwrap(), SIGNATURE));
        assert_ne!(first, second);
    }

    #[test]
    fn new_secrets_are_secrets_and_differ() {
        let (one, other) = (new_secret(), new_secret());
        assert_ne!(one, other);
        assert!(one.starts_with("whsec_") && key(&one).unwrap().len() == 32);
    }

    #[test]
    fn what_is_no_secret_signs_nothing() {
        for secret in ["", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", &"QUFB".repeat(22)] {
            assert!(matches!(signed(&[SECRET, secret], ID), Err(Failure::Secret)), "{secret}");
        }
        assert!(matches!(signed(&[], ID), Err(Failure::Secret)));
    }

    #[test]
    fn an_id_has_no_full_stop() {
        for id in ["", "a.b", "a b", "a\n", "ä"] {
            assert!(matches!(signed(&[SECRET], id), Err(Failure::Id)), "{id}");
        }
    }
}
