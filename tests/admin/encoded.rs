//! A value as programs write it into texts.

/// In more than ten encodings.
pub(crate) fn encoded(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let ascii = |c: char| {
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
        if c.is_ascii() { c.to_string() } else { units.collect() }
    };
    let percent = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let html = |c: char| match c {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    };
    let basic = base64(format!("user:{value}").as_bytes());
    vec![
        format!("{value:?}"),
        json.clone(),
        json.chars().map(ascii).collect(),
        serde_json::Value::from(json).to_string(),
        format!("https://host/?key={}&x", value.bytes().map(percent).collect::<String>()),
        format!("key={}", form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>()),
        base64(value.as_bytes()),
        base64(value.as_bytes()).replace('+', "-").replace('/', "_").replace('=', ""),
        format!("Authorization: Basic {basic}"),
        base64(format!("a:{value}\n").as_bytes()),
        value.chars().map(html).collect(),
        value.to_uppercase(),
        value.bytes().map(|byte| format!("{byte:02x}")).collect(),
        format!("{:?}", value.as_bytes()),
    ]
}

/// What gives such a text away, wherever it begins: the middle of it.
pub(crate) fn middle(encoded: &str) -> String {
    let value = encoded.rsplit(['=', ' ']).find(|part| part.len() > 8).unwrap_or(encoded);
    let letters: Vec<char> = value.chars().collect();
    let from = letters.len() / 2 - 5;
    letters[from..from + 10].iter().collect()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let all = three.iter().fold(0_u32, |all, byte| (all << 8) | u32::from(*byte));
        let all = all << (8 * (3 - three.len()));
        let letter = |at: usize| ALPHABET[(all >> (18 - 6 * at) & 63) as usize];
        (0..4).map(move |at| if at > three.len() { '=' } else { letter(at).into() }).collect()
    };
    bytes.chunks(3).map(group).collect::<Vec<String>>().concat()
}

#[test]
fn base64_is_that_of_rfc_4648() {
    for (text, encoded) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    {
        assert_eq!(base64(text.as_bytes()), encoded);
    }
}
