use super::envelope::opened;
use super::*;

const JSON: &str = concat!(
    r#"{"a":1.50,"token":"se\"cret","cards":[{"n":12345678901234567890123},"#,
    r#"{"n":null,"m":[true]}],"whole":{"x":{}}}"#
);

/// A key that is told by its first byte.
fn key(first: u8) -> [u8; 32] {
    std::array::from_fn(|at| first.wrapping_add(at as u8))
}

fn ring() -> Keyring {
    Keyring::new("k1", key(1)).expect("an id")
}

fn seal_with(cipher: &dyn Cipher, kind: &str, json: &str, reading: Reading) -> String {
    try_seal(cipher, kind, json, reading).expect("it can be sealed")
}

fn try_seal(
    cipher: &dyn Cipher,
    kind: &str,
    json: &str,
    reading: Reading,
) -> Result<String, String> {
    let paths = vec![vec!["token"], vec!["cards", "n"], vec!["whole"], vec!["absent"]];
    Sealing { kind, paths, cipher, reading }.seal(json)
}

fn seal(json: &str) -> String {
    seal_with(&ring(), "kind", json, Reading::Job)
}

#[test]
fn what_was_sealed_comes_back_digit_by_digit() {
    let sealed = seal(JSON);
    for plain in ["cret", "12345678901234567890123", "{\"x\""] {
        assert!(!sealed.contains(plain), "{sealed}");
    }
    assert!(sealed.starts_with("{\"a\":1.50,\"token\":{\"jobkit:sealed\":\"k1."), "{sealed}");
    assert!(sealed.contains("\"n\":null,\"m\":[true]"), "{sealed}");
    assert_eq!(keys_in(&sealed), [("k1".to_owned(), 3)].into());
    assert_eq!(
        opened("kind", &sealed, Some(&ring())).map(|json| json.unwrap_or_default()),
        Ok(JSON.to_owned())
    );
    // As jsonb writes it, too.
    let spaced = sealed.replace(':', ": ").replace("jobkit: sealed", "jobkit:sealed");
    let opened = opened("kind", &spaced, Some(&ring())).expect("it opens").expect("it was sealed");
    assert_eq!(opened, JSON);
    assert_ne!(sealed, seal(JSON), "each time with another nonce");
}

#[test]
fn what_is_not_sealed_stays_as_it_is_and_what_is_no_json_too() {
    for json in [JSON, "{", "7", "", r#"{"jobkit:sealed":7}"#, r#"{"jobkit:sealed":"a.b","x":1}"#] {
        assert_eq!(opened("kind", json, Some(&ring())), Ok(None), "{json}");
    }
}

#[test]
fn nothing_is_opened_elsewhere_or_changed_or_without_its_key() {
    let sealed = seal(r#"{"token":"secret"}"#);
    let tampered = |path: &str| Err(Unopened::Tampered(path.to_owned()));
    assert_eq!(opened("other", &sealed, Some(&ring())), tampered("token"));
    let moved = sealed.replace("\"token\"", "\"note\"");
    assert_eq!(opened("kind", &moved, Some(&ring())), tampered("note"));
    let deeper = format!("{{\"x\":{sealed}}}");
    assert_eq!(opened("kind", &deeper, Some(&ring())), tampered("x.token"));
    let start = sealed.find("k1.").expect("its key") + 3;
    let ciphertext = &sealed[start..sealed.len() - 3];
    for at in 0..ciphertext.len() {
        let other = if ciphertext.as_bytes()[at] == b'A' { "B" } else { "A" };
        let mut changed = sealed.clone();
        changed.replace_range(start + at..=start + at, other);
        assert_eq!(opened("kind", &changed, Some(&ring())), tampered("token"), "{at}");
    }
    for cut in ["k1.", "k1.AAAA", "k1", "k 1.AAAA", ".AAAA", "k1.%"] {
        let json = format!("{{\"token\":{{\"jobkit:sealed\":\"{cut}\"}}}}");
        assert_eq!(opened("kind", &json, Some(&ring())), tampered("token"), "{cut}");
    }
    let no_key = Err(Unopened::NoKey("k1".to_owned()));
    let other = Keyring::new("k2", key(1)).expect("an id");
    assert_eq!(opened("kind", &sealed, Some(&other)), no_key);
    assert_eq!(opened("kind", &sealed, None), no_key);
    let wrong = Keyring::new("k1", key(2)).expect("an id");
    assert_eq!(opened("kind", &sealed, Some(&wrong)), tampered("token"));
}

#[test]
fn an_envelope_from_outside_is_refused_and_a_stored_one_stays() {
    let sealed = seal(r#"{"token":"secret","b":1}"#);
    let refused = |json: &str, reading| try_seal(&ring(), "kind", json, reading).expect_err(json);
    assert!(refused(&sealed, Reading::Job).contains("`token` looks like a sealed value"));
    let escaped = r#"{"b":{"jobkit\u003asealed":"k1.AAAA"}}"#;
    for reading in [Reading::Job, Reading::Stored] {
        assert!(refused(escaped, reading).contains("`b` looks like"), "{reading:?}");
    }
    assert_eq!(seal_with(&ring(), "kind", &sealed, Reading::Stored), sealed);
    let hidden = r#"{"token":"•••"}"#;
    assert!(refused(hidden, Reading::Stored).contains("is the placeholder of a hidden value"));
    assert!(!seal(hidden).contains("•••"));
}

#[test]
fn a_key_is_rotated_by_resealing() {
    let sealed = seal(JSON);
    let both = ring().with("k2", key(2)).expect("an id");
    assert_eq!(resealed("kind", &sealed, &both), Ok(None));
    let both = both.sealing_with("k2").expect("it has it");
    assert_eq!(
        opened("kind", &sealed, Some(&both)).map(|json| json.unwrap_or_default()),
        Ok(JSON.to_owned())
    );
    let newer = resealed("kind", &sealed, &both).expect("it opens").expect("it was older");
    assert_eq!(keys_in(&newer), [("k2".to_owned(), 3)].into());
    let new = Keyring::new("k2", key(2)).expect("an id");
    assert_eq!(
        opened("kind", &newer, Some(&new)).map(|json| json.unwrap_or_default()),
        Ok(JSON.to_owned())
    );
    assert_eq!(resealed("kind", &newer, &new), Ok(None));
    let error = resealed("kind", &sealed, &new).expect_err("it lacks k1");
    assert!(error.contains("sealed with the key `k1`"), "{error}");
}

/// From section A.3.1 of draft-irtf-cfrg-xchacha: what others seal we open.
#[test]
fn it_is_xchacha20_poly1305_as_others_have_it() {
    let key: [u8; 32] = std::array::from_fn(|at| 0x80 + u8::try_from(at).expect("small"));
    let nonce: [u8; 24] = std::array::from_fn(|at| 0x40 + u8::try_from(at).expect("small"));
    let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    let plain = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for \
                  the future, sunscreen would be it.";
    let sealed = "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa644\
                  0bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e\
                  3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e\
                  c0875924c1c7987947deafd8780acf49";
    let byte = |at: usize| u8::from_str_radix(&sealed[at..at + 2], 16).expect("hexadecimal");
    let sealed: Vec<u8> = (0..sealed.len()).step_by(2).map(byte).collect();
    let ring = Keyring::new("k", key).expect("an id");
    let opened = ring.open("k", &[&nonce[..], &sealed].concat(), &aad);
    assert_eq!(opened.as_deref(), Ok(&plain[..]));
}

#[test]
fn keys_are_read_and_never_shown() {
    let key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
    let read = |text: &str| text.parse::<Keyring>();
    let ring = read(&format!(" b:{key}, a:{},", &key[..43])).expect("two keys");
    assert_eq!(ring.ids().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(format!("{ring:?}"), r#"Keyring(["b", "a"])"#);
    for (text, error) in [
        ("", KeyringError::Missing),
        (" , ", KeyringError::Missing),
        ("secret", KeyringError::Entry(1)),
        (&format!("a:{key},b:c2VjcmV0"), KeyringError::Entry(2)),
        (&format!("a b:{key}"), KeyringError::Id),
        (&format!("a:{key},a:{key}"), KeyringError::Twice("a".to_owned())),
    ] {
        let found = read(text).expect_err(text);
        assert_eq!(found, error);
        assert!(!found.to_string().contains("secret") && !found.to_string().contains(key));
    }
    assert_eq!(ring.sealing_with("c").expect_err("no c"), KeyringError::Unknown("c".to_owned()));
}
