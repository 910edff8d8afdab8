//! The password of `serve`.

use std::path::Path;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use subtle::ConstantTimeEq;

use super::answer::Failure;

/// The minimum length of a password that a user sets: guessing is slowed down, not prevented.
const SHORTEST: usize = 12;

/// The password that all users of the dashboard share.
pub(super) struct Password(String);

/// 128 random bits, as a text.
pub(super) fn random() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::refused(format!("no random bytes are available: {error}")))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

impl Password {
    /// A new one, of 128 random bits.
    pub(super) fn made_up() -> Result<Self, Failure> {
        random().map(Self)
    }

    pub(super) fn given(text: &str) -> Result<Self, Failure> {
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(Failure::usage("the password is empty")),
            text if text.chars().count() < SHORTEST => Err(Failure::usage(format!(
                "the password has fewer than {SHORTEST} characters: use a longer one, or set none \
                 to have one generated"
            ))),
            text => Ok(Self(text.to_owned())),
        }
    }

    /// The first and only line of a file.
    pub(super) fn of_file(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path);
        Self::given(&text.map_err(|error| {
            Failure::usage(format!("cannot read the password in {}: {error}", path.display()))
        })?)
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// The user name of a request that has the right password, by HTTP basic authentication. How
    /// long a wrong password takes reveals no more than the password's length.
    pub(super) fn admits(&self, headers: &HeaderMap) -> Option<String> {
        let (scheme, credentials) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let credentials = BASE64_STANDARD.decode(credentials.trim()).ok()?;
        let colon = credentials.iter().position(|byte| *byte == b':')?;
        let (name, password) = (&credentials[..colon], &credentials[colon + 1..]);
        let right: bool = self.0.as_bytes().ct_eq(password).into();
        right.then(|| String::from_utf8_lossy(name).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(header: &str) -> Option<String> {
        let password = Password::given("open:the:sesame\n").unwrap_or_else(|_| unreachable!());
        let headers = [(AUTHORIZATION, header.parse().expect("it is a header"))];
        password.admits(&headers.into_iter().collect())
    }

    #[test]
    fn only_the_right_password_admits() {
        let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        assert_eq!(asked(&basic("alice:open:the:sesame")).as_deref(), Some("alice"));
        assert_eq!(asked(&basic(":open:the:sesame")).as_deref(), Some(""));
        assert_eq!(
            asked(&basic("alice:open:the:sesame").replace("Basic", "basic")).as_deref(),
            Some("alice")
        );
        for wrong in [
            "alice:",
            "alice:open:the",
            "alice:open:",
            "alice:open:the:sesame ",
            "open:the:sesame",
            "alice",
        ] {
            assert_eq!(asked(&basic(wrong)), None, "{wrong}");
        }
        for header in ["", "Basic", "Basic !", "Bearer open:the:sesame", "Basic YWxpY2U"] {
            assert_eq!(asked(header), None, "{header}");
        }
    }

    #[test]
    fn no_password_is_made_up_twice_and_none_is_short() {
        let made_up = || Password::made_up().map(|password| password.0).unwrap_or_default();
        assert!(made_up().len() == 32 && made_up() != made_up());
        for short in ["\n", "sesame", "elevenchars"] {
            assert!(Password::given(short).is_err(), "{short}");
        }
        assert!(Password::given("elevenchars!").is_ok());
    }
}
