use std::path::PathBuf;

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{check, fits};
use crate::Registration;
use crate::policy::Policy;

/// Makes the schema of a struct with these fields.
macro_rules! fields {
    ($(#[$on:meta])* { $($fields:tt)* }) => {{
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its form counts")]
        $(#[$on])*
        struct Payload { $($fields)* }
        schema_for!(Payload).to_value()
    }};
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
enum Channel {
    Mail,
    Sms { number: String },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
#[serde(rename = "Channel")]
enum MoreChannels {
    Push(u32),
    Mail,
    Sms {
        number: String,
        #[serde(default)]
        flash: bool,
    },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
#[serde(tag = "by")]
enum Tagged {
    #[serde(rename = "mail")]
    Mail { to: String },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
#[serde(tag = "by")]
enum OtherTagged {
    #[serde(rename = "post")]
    Post { to: String },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
struct Tree {
    leaf: Option<i32>,
    branches: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form counts")]
#[serde(rename = "Tree")]
struct OtherTree {
    leaf: i32,
    branches: Vec<OtherTree>,
}

#[test]
fn what_stored_payloads_bear_is_no_problem() {
    let id = || fields!({ id: i32 });
    let bears = [
        ("nothing changes", id(), id()),
        ("a default", id(), fields!({ id: i32, #[serde(default)] copies: u8 })),
        ("an option", id(), fields!({ id: i32, copies: Option<u8> })),
        ("a field goes", fields!({ id: i32, copies: u8 }), id()),
        ("a wider number", id(), fields!({ id: i64 })),
        ("a number with a fraction", id(), fields!({ id: f64 })),
        ("unsigned within signed", fields!({ id: u32 }), fields!({ id: i64 })),
        ("may be missing", id(), fields!({ id: Option<i32> })),
        ("anything", id(), fields!({ id: Value })),
        ("fewer bounds", fields!({ id: [u8; 3] }), fields!({ id: Vec<u8> })),
        ("denies what never was", id(), fields!(#[serde(deny_unknown_fields)] { id: i32 })),
        ("variants", fields!({ by: Channel }), fields!({ by: MoreChannels })),
        ("trees", fields!({ tree: OtherTree }), fields!({ tree: Tree })),
        ("itself", fields!({ tree: Tree }), fields!({ tree: Tree })),
    ];
    for (what, kept, now) in bears {
        assert_eq!(fits::problems(&kept, &now), [""; 0], "{what}: {kept:#} {now:#}");
    }
}

#[test]
fn what_stored_payloads_cannot_bear_is_named_with_its_path() {
    let id = || fields!({ id: i32 });
    let denies = || fields!(#[serde(deny_unknown_fields)] { id: i32 });
    let breaks = [
        (id(), fields!({ id: i32, by: String }), "$.by: it is now required"),
        (fields!({ id: Option<i32> }), id(), "$.id: it is now required"),
        (id(), fields!({ id: String }), "$.id: it was integer, and is now string"),
        (fields!({ id: f64 }), id(), "$.id: it was number, and is now integer"),
        (fields!({ id: i64 }), id(), "$.id: its format is now `int32`, and was `int64`"),
        (id(), fields!({ id: u64 }), "$.id: its `minimum` is now 0, and was none"),
        (fields!({ id: u64 }), fields!({ id: i64 }), "$.id: its format is now `int64`"),
        (
            fields!({ id: String }),
            fields!({ id: Vec<String> }),
            "$.id: it was string, and is now array",
        ),
        (fields!({ id: Vec<i32> }), fields!({ id: Vec<bool> }), "$.id[]: it was integer"),
        (fields!({ id: (i32, i32) }), fields!({ id: (i32, bool) }), "$.id[1]: it was integer"),
        (fields!({ id: Vec<u8> }), fields!({ id: [u8; 3] }), "$.id: its `minItems` is now 3"),
        (fields!({ id: Value }), id(), "$.id: it could be any value"),
        (
            fields!({ id: i32, by: i32 }),
            denies(),
            "$.by: it was removed, and unknown fields are denied",
        ),
        (fields!({ by: MoreChannels }), fields!({ by: Channel }), "what has `Push`"),
        (
            fields!({ by: Tagged }),
            fields!({ by: OtherTagged }),
            "$.by: no variant accepts \"mail\"",
        ),
        (fields!({ tree: Tree }), fields!({ tree: OtherTree }), "$.tree.leaf: it is now required"),
    ];
    for (kept, now, expected) in breaks {
        let found = fits::problems(&kept, &now).join("; ");
        assert!(found.contains(expected), "{expected}, but {found:?}: {kept:#} {now:#}");
    }
}

#[test]
fn a_word_nobody_knows_is_a_problem_where_it_is_new() {
    let plain = json!({ "type": "string" });
    let strict = json!({ "type": "string", "pattern": "^a" });
    assert_eq!(fits::problems(&strict, &plain), [""; 0]);
    assert_eq!(fits::problems(&strict, &strict), [""; 0]);
    assert_eq!(fits::problems(&plain, &strict), ["$: it must now meet `pattern`: \"^a\""]);
    // A circle of references ends.
    let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
    fits::problems(&circle, &circle);
}

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _it_was_never_made = std::fs::remove_dir_all(&self.0);
    }
}

fn policy(version: u16, upcasts: &'static [u16]) -> Policy {
    Policy { kind: "mail/send", version, upcasts, ..Policy::new("mail/send") }
}

#[test]
fn a_file_is_written_when_asked_and_never_over_what_stored_payloads_need() {
    let name = format!("jobkit-schemas-{:x}", fastrand::u64(..));
    let folder = Folder(std::env::temp_dir().join(name));
    let error = |version, upcasts, now: &Value, writes| {
        check(&policy(version, upcasts), now, &folder.0, writes).expect_err("it is refused")
    };
    let first = policy(1, &[]);
    let id = fields!({ id: i32 });
    assert!(error(1, &[], &id, false).contains("mail_send.json is missing"));
    assert_eq!(check(&first, &id, &folder.0, true), Ok(()));
    assert_eq!(check(&first, &id, &folder.0, false), Ok(()));
    let described = fields!(#[schemars(description = "how it is meant")] { id: i32 });
    assert_eq!(check(&first, &described, &folder.0, false), Ok(()));

    let wider = fields!({ id: i32, #[serde(default)] copies: u8 });
    assert!(error(1, &[], &wider, false).contains("out of date"));
    assert_eq!(check(&first, &wider, &folder.0, true), Ok(()));
    let text = fields!({ id: String });
    let broken = error(1, &[], &text, true);
    assert!(broken.contains("$.id: it was integer, and is now string"), "{broken}");
    assert!(broken.contains("`version = 2` with `upcast(1 = …)`"), "{broken}");
    assert_eq!(check(&first, &wider, &folder.0, false), Ok(()));

    assert!(error(2, &[], &text, true).contains("has no `upcast(1 = …)`"));
    assert_eq!(check(&policy(2, &[1]), &text, &folder.0, true), Ok(()));
    assert!(folder.0.join("mail_send@2.json").exists());
    std::fs::write(folder.0.join("mail_send@2.json"), "{").expect("the folder is there");
    assert!(error(2, &[1], &text, false).contains("mail_send@2.json: EOF"));
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct SendMail {
    to: String,
}

impl crate::JobType for SendMail {
    type Output = ();

    const POLICY: Policy = Policy::new("send_mail");
}

#[test]
fn a_job_is_checked_by_its_type() {
    let nowhere = std::env::temp_dir().join("jobkit-no-such-folder");
    let error =
        Registration::check_schema::<SendMail>(&nowhere).expect_err("nothing is kept there");
    assert!(error.contains("send_mail.json is missing: run this with JOBKIT_SCHEMAS=write"));
}
