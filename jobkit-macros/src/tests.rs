//! The stages together: what comes out of an attribute and its item.

use proc_macro2::TokenStream;

use crate::declare;
use crate::mistakes::Mistakes;
use crate::parse::{self, Args};
use crate::redact::Fields;

/// What `#[job(arguments)]` makes of `item`, without white space.
fn declared(arguments: &str, item: &str) -> String {
    squeezed(&declare(tokens(arguments), tokens(item)))
}

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("the test gives valid tokens")
}

/// The code in `source`, in the form that [`declared`] returns.
fn normal(source: &str) -> String {
    squeezed(&tokens(source))
}

fn squeezed(tokens: &TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}

/// The messages of `#[job(…)]` on a unit struct.
fn messages(arguments: &str) -> Vec<String> {
    let mut mistakes = Mistakes::default();
    let args = Args::parse(tokens(arguments), &mut mistakes);
    let name = syn::parse_quote!(SendReceipt);
    crate::model::JobModel::new(&name, &Fields::default(), args, &mut mistakes);
    let errors = mistakes.into_error().into_iter().flatten();
    errors.map(|error| error.to_string()).collect()
}

/// What a full declaration expands to.
const FULL: &str = r#"
        pub struct SendReceipt { account_id: i64 }
        #[automatically_derived]
        impl SendReceipt {
            #[doc(hidden)]
            fn __jobkit_concurrency_key(
                &self
            ) -> ::jobkit::private::Key<impl ::jobkit::private::Presence> {
                ::jobkit::private::key_or_none(&(self.account_id))
            }
        }
        #[automatically_derived]
        impl ::jobkit::private::JobType for SendReceipt {
            type Output = ();
            const POLICY: ::jobkit::private::Policy = ::jobkit::private::Policy {
                aliases: &["mail_receipt", "receipt_v1"],
                queue: "mail",
                priority: -1i16,
                max_attempts: 5u16,
                backoff: ::jobkit::private::Backoff::Exponential {
                    first: ::core::time::Duration::from_millis(500u64),
                    max: ::core::time::Duration::from_secs(3600u64)
                },
                timeout: ::core::option::Option::Some(::core::time::Duration::from_secs(90u64)),
                retention: ::core::option::Option::None,
                auto_replay: ::core::option::Option::Some(::jobkit::private::AutoReplay {
                    after: ::core::time::Duration::from_secs(900u64),
                    max_cycles: 5u16
                }),
                concurrency: ::core::option::Option::Some(::jobkit::private::Concurrency {
                    group: "accounts",
                    limit: 2u32
                }),
                optional_key: ::jobkit::private::optional_key(Self::__jobkit_concurrency_key),
                ..::jobkit::private::Policy::new("receipt")
            };
            fn concurrency_key(&self) -> ::core::option::Option<::std::string::String> {
                self.__jobkit_concurrency_key().into_text()
            }
            fn dead_letter_key(&self) -> ::core::option::Option<::std::string::String> {
                ::jobkit::private::key(&(self.order_id))
            }
        }
        ::jobkit::private::inventory::submit!(
            ::jobkit::private::Registration::of::<SendReceipt, _>()
        );
"#;

#[test]
fn a_full_declaration_expands_to_its_policy_its_key_and_its_registration() {
    let item = "pub struct SendReceipt { account_id: i64 }";
    let expansion = declared(
        r#"
            kind = "receipt", aliases = ["mail_receipt", "receipt_v1"], queue = "mail",
            priority = -1, max_attempts = 5, timeout = "90s", retention = none,
            backoff = exponential("500ms", max = "1h"), auto_replay = "15m", max_cycles = 5,
            dead_letter_key = self.order_id, concurrency_key = self.account_id,
            concurrency_limit = 2, concurrency_group = "accounts"
        "#,
        item,
    );
    assert_eq!(expansion, normal(FULL));
}

#[test]
fn a_bare_declaration_leaves_everything_to_the_library() {
    let expected = r#"
        struct HTTPFetch;
        #[automatically_derived]
        impl ::jobkit::private::JobType for HTTPFetch {
            type Output = ();
            const POLICY: ::jobkit::private::Policy = ::jobkit::private::Policy::new("http_fetch");
        }
        ::jobkit::private::inventory::submit!(
            ::jobkit::private::Registration::of::<HTTPFetch, _>()
        );
    "#;
    assert_eq!(declared("", "struct HTTPFetch;"), normal(expected));
}

#[test]
fn a_mistake_leaves_the_item_a_bare_declaration_and_the_message() {
    let expected = r#"
        struct Import<T: Clone> { rows: Vec<T> }
        #[automatically_derived]
        impl<T: Clone> ::jobkit::private::JobType for Import<T> {
            type Output = ();
            const POLICY: ::jobkit::private::Policy = ::jobkit::private::Policy::new("");
        }
        ::core::compile_error! {
            "a job is stored by name, so it must be one concrete type:
             wrap the instance you need in a struct of its own"
        }
    "#;
    let expansion = declared("", "struct Import<T: Clone> { rows: Vec<T> }");
    assert_eq!(expansion, normal(expected));
}

#[test]
fn what_is_not_a_type_is_left_alone_but_for_the_message() {
    let expansion = declared("", "fn send() {}");
    assert!(expansion.starts_with(&normal("fn send() {} ::core::compile_error!")));
}

#[test]
fn a_second_attribute_is_taken_off() {
    for second in ["#[job]", "#[job(queue = \"mail\")]", "#[jobkit::job]", "#[::jobkit::job()]"] {
        let expansion = declared("", &format!("#[serde(default)] {second} struct Ping;"));
        assert!(expansion.starts_with(&normal("#[serde(default)] struct Ping;")), "{second}");
        assert!(expansion.contains("putallargumentsintoone"), "{second}");
    }
    let foreign = declared("", "#[cron::job] struct Ping;");
    assert!(!foreign.contains("compile_error"));
}

#[test]
fn the_example_of_every_argument_is_accepted() {
    for (name, example) in parse::ARGUMENTS {
        if name == "redact" || name == "encrypt" {
            let missing = format!("no field `token` to {name}: this struct has no named fields");
            let told = messages(example);
            assert_eq!(told.last(), Some(&missing));
            let unbuilt = name == "encrypt" && !cfg!(feature = "encrypt");
            assert_eq!(told.len(), 1 + usize::from(unbuilt), "{told:?}");
            assert_eq!(told[0].contains("needs the feature `encrypt`"), unbuilt, "{told:?}");
            continue;
        }
        if name == "subscribes" {
            assert!(messages(example)[0].starts_with("a job that subscribes is a tuple struct"));
            continue;
        }
        let needed = match name {
            "concurrency_limit" | "concurrency_group" => "concurrency_key = 1,",
            "unique_group" | "unique_while" | "unique_for" | "on_duplicate" => "unique_key = 1,",
            "coalesce_group" => "coalesce_key = 1,",
            "burst" => "rate = \"100/min\",",
            "linger" => "chunk = 100,",
            "max_cycles" => "auto_replay = \"1h\",",
            "upcast" => "version = 3,",
            _ => "",
        };
        let given = if name == "upcast" { example } else { &format!("{name} = {example}") };
        let arguments = format!("{needed} {given}");
        assert_eq!(messages(&arguments), [""; 0], "{arguments}");
    }
}

#[test]
fn reading_goes_on_behind_a_mistake() {
    let last = "`max_attempts` is a number from `1` to `1000`";
    for (broken, first) in [
        ("queue", "`queue` needs a value"),
        ("queue =", "`queue` needs a value"),
        ("queue = mail", "`queue` expects a string"),
        ("queue: \"mail\"", "the value of `queue` goes after `=`"),
        ("queue(\"mail\", 5)", "the value of `queue` goes after `=`"),
        ("queue == \"mail\"", "this value of `queue` does not parse"),
        ("queue = \"mail\" \"post\"", "expected `,` after the value"),
        ("quue = \"mail\"", "unknown argument `quue`"),
        ("type = \"mail\"", "unknown argument `type`"),
        ("\"mail\"", "this value needs the name of an argument"),
        ("7", "this value needs the name of an argument: write `max_attempts = 7`"),
        ("(queue = \"mail\")", "expected an argument such as"),
        ("", "expected an argument such as"),
        ("concurrency_key = self.a.", "this value of `concurrency_key` is incomplete"),
        ("aliases = [\"a\" \"b\"]", "this value of `aliases` does not parse"),
        ("concurrency_key = match", "this value of `concurrency_key` does not parse"),
        ("concurrency_key = self.a b", "expected `,` before `b`"),
        ("backoff = fixed", "`fixed` needs a wait"),
        ("timeout = \"soon\"", "expected a number with a unit"),
        ("auto_replay = 3600", "`auto_replay` expects a duration in quotes or `none`"),
        ("max_cycles = 5", "`max_cycles` limits automatic replays"),
        ("dead_letter_key = self.", "this value of `dead_letter_key` is incomplete"),
    ] {
        let both = messages(&format!("{broken}, max_attempts = 0"));
        assert_eq!(both.len(), 2, "{broken}: {both:?}");
        assert!(both[0].starts_with(first) || both[1].starts_with(first), "{broken}: {both:?}");
        assert!(both.iter().any(|message| message == last), "{broken}: {both:?}");
    }
}

#[test]
fn a_key_that_is_there_but_broken_is_not_missed_a_second_time() {
    for key in ["concurrency_key", "concurrency_key = ", "concurency_key = 1", "key = 1"] {
        let messages = messages(&format!("{key}, concurrency_limit = 2"));
        assert_eq!(messages.len(), 1, "{messages:?}");
    }
}

#[test]
fn a_replay_that_is_there_but_broken_is_not_missed_a_second_time() {
    for replay in ["auto_replay", "auto_replay = 5", "auto_replay = \"5ms\"", "replay = \"1h\""] {
        let messages = messages(&format!("{replay}, max_cycles = 2"));
        assert_eq!(messages.len(), 1, "{messages:?}");
    }
}

#[test]
fn a_replay_may_be_switched_off_but_then_has_no_cycles() {
    assert_eq!(messages("auto_replay = none"), [""; 0]);
    let messages = messages("auto_replay = none, max_cycles = 2");
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(!declared("auto_replay = none", "struct Ping;").contains("auto_replay"));
}

#[test]
fn a_replay_without_cycles_gets_ten() {
    let expansion = declared("auto_replay = \"30d\"", "struct Ping;");
    assert!(expansion.contains("max_cycles:10u16"), "{expansion}");
}

#[test]
fn cycles_go_from_two_to_a_thousand() {
    for (cycles, mistakes) in [("1", 1), ("2", 0), ("1000", 0), ("1001", 1)] {
        let messages = messages(&format!("auto_replay = \"1h\", max_cycles = {cycles}"));
        assert_eq!(messages.len(), mistakes, "{messages:?}");
    }
}

#[test]
fn numbers_too_large_for_any_type_are_out_of_range() {
    for number in ["1001", "-1", "70000", "340282366920938463463374607431768211456"] {
        let messages = messages(&format!("max_attempts = {number}"));
        assert_eq!(messages, ["`max_attempts` is a number from `1` to `1000`"], "{number}");
    }
}

#[test]
fn the_first_self_of_a_key_is_the_receiver() {
    let expansion = declared("concurrency_key = format!(\"{}\", (self.0))", "struct Ping(u8);");
    let expected = "fn __jobkit_concurrency_key(&self)
        -> ::jobkit::private::Key<impl ::jobkit::private::Presence> {
        ::jobkit::private::key_or_none(&(format!(\"{}\", (self.0))))
    }";
    assert!(expansion.contains(&normal(expected)), "{expansion}");
}

/// The paths that `#[job(arguments)]` on a struct with these contents redacts.
fn redacted(arguments: &str, attributes: &str, fields: &str) -> Vec<String> {
    let item = declared(arguments, &format!("{attributes} struct S {{ {fields} }}"));
    let Some((_, list)) = item.split_once("redact:&[") else { panic!("{item}") };
    let (list, _) = list.split_once(']').unwrap_or_default();
    list.split(',').map(|path| path.trim_matches('"').to_owned()).collect()
}

#[test]
fn redacted_fields_become_every_key_that_they_may_have() {
    let fields = "token: String, r#type: T, #[serde(rename = \"no\", alias = \"num\")] number: N";
    assert_eq!(redacted("redact(token)", "", fields), ["token"]);
    assert_eq!(redacted("redact(r#type, token.a.b,)", "", fields), ["type", "token.a.b"]);
    assert_eq!(redacted("redact(number.x)", "", fields), ["no.x", "num.x", "number.x"]);
    for (rule, key) in [
        ("camelCase", "cardNumber"),
        ("PascalCase", "CardNumber"),
        ("kebab-case", "card-number"),
        ("SCREAMING_SNAKE_CASE", "CARD_NUMBER"),
        ("SCREAMING-KEBAB-CASE", "CARD-NUMBER"),
    ] {
        let attribute = format!("#[serde(default, rename_all = \"{rule}\", bound = \"\")]");
        let mut expected = vec![key, "card_number"];
        expected.sort_unstable();
        assert_eq!(redacted("redact(card_number)", &attribute, "card_number: N"), expected);
    }
    let split = "#[serde(rename(serialize = \"out\", deserialize = \"in\"))] a: N";
    assert_eq!(redacted("redact(a)", "", split), ["a", "in", "out"]);
}

#[test]
fn a_key_in_quotes_is_refused_with_what_to_write_instead() {
    let refused = |key: &str| {
        let item = "struct Charge { tenant: u64, region: String }";
        let code = declared(&format!("concurrency_key = \"{key}\""), item);
        let advice = code.split_once("withoutquotes:`concurrency_key=");
        advice.map(|(_, write)| write.split('`').next().expect("text").replace('\\', ""))
    };
    assert_eq!(refused("self.tenant").as_deref(), Some("self.tenant"));
    assert_eq!(refused("tenant").as_deref(), Some("self.tenant"));
    assert_eq!(refused("{tenant}").as_deref(), Some("self.tenant"));
    assert_eq!(refused("{self.tenant}").as_deref(), Some("self.tenant"));
    let both = Some("format!(\"{}/{}\",self.region,self.tenant)");
    assert_eq!(refused("{region}/{tenant}").as_deref(), both);
    assert_eq!(refused("{self.region}/{self.tenant}").as_deref(), both);
    assert_eq!(refused("self.tenant % 10").as_deref(), Some("self.tenant%10"));
    for constant in ["all", "the tenant", "tenants", "a{b}", "itself", "don't"] {
        assert_eq!(refused(constant), None, "{constant}");
    }
}

/// The reference lists the common arguments first, and every other one in exactly one section.
#[test]
fn the_reference_lists_each_argument_once() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../jobkit/src/docs/job.md");
    let page = std::fs::read_to_string(page).expect("the page is beside this crate");
    let name = |row: &str| {
        let name: String = row.chars().skip_while(|c| *c != '`').skip(1).collect();
        name.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>()
    };
    let rows = |table: &str| {
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.map(name).collect::<Vec<_>>()
    };
    let mut tables = page.split("| argument | value | default |").skip(1).map(rows);
    let mut common = tables.next().expect("the table of the common arguments");
    assert_eq!(common, crate::parse::COMMON);
    let mut listed: Vec<String> = tables.flatten().collect();
    common.retain(|name| !listed.contains(name));
    listed.extend(common);
    let mut known = crate::parse::ARGUMENTS.map(|(name, _)| name);
    listed.sort();
    known.sort_unstable();
    assert_eq!(listed, known);
}
