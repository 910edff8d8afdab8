//! What a payload looks like, kept in a file beside the code: a change that stored jobs cannot bear
//! fails a test instead of a deploy.

mod fits;
mod shape;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde_json::Value;

use crate::policy::Policy;
use crate::version::versioned;
use crate::{Declared, Registration};

/// With this in the environment, and `write` as its value, files are written.
const SWITCH: &str = "JOBKIT_SCHEMAS";

impl Registration {
    /// Compares what `J` reads with the JSON schema that `folder` keeps of it, a file for each kind
    /// and version: `send_receipt.json`, `send_receipt@2.json`. For a test of yours; the files
    /// belong into version control.
    ///
    /// The test fails on a change that stored payloads cannot bear, such as a new field without a
    /// default, and says what to do. It also fails on any other change until the file is written
    /// anew: run it with `JOBKIT_SCHEMAS=write` in the environment, and commit the file. It never
    /// overwrites one with what its payloads do not fit.
    ///
    /// What it cannot see: a payload that keeps its form and means something else; a field that
    /// went, and came back with another type; a `Deserialize` that does otherwise than
    /// `JsonSchema` says.
    ///
    /// ```
    /// # use jobkit::{Job, JobContext, Registration, job};
    /// # use serde::{Deserialize, Serialize};
    /// # let folder = std::env::temp_dir().join(format!("jobkit-schemas-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let schema = r#"{"type": "object", "required": ["order_id"],
    /// #     "properties": {"order_id": {"type": "integer", "format": "int64"}}}"#;
    /// # std::fs::write(folder.join("send_receipt.json"), schema).unwrap();
    /// #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    /// #[job]
    /// struct SendReceipt {
    ///     order_id: i64,
    /// }
    /// # impl Job for SendReceipt {
    /// #     async fn run(self, _cx: JobContext) -> jobkit::Result { Ok(()) }
    /// # }
    /// Registration::check_schema::<SendReceipt>(&folder).unwrap();
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// ```
    ///
    /// # Errors
    /// What stored payloads cannot bear, with the path inside the payload; that the file is missing
    /// or out of date; that a file of an earlier version is there without an `upcast` for it; or
    /// that the file cannot be read, parsed or written.
    pub fn check_schema<J: Declared + JsonSchema>(folder: impl AsRef<Path>) -> Result<(), String> {
        let writes = std::env::var_os(SWITCH).is_some_and(|value| value == "write");
        let schema = schemars::schema_for!(J).to_value();
        check(&J::POLICY, &schema, folder.as_ref(), writes)
    }
}

fn check(policy: &Policy, now: &Value, folder: &Path, writes: bool) -> Result<(), String> {
    earlier(policy, folder)?;
    let path = file(folder, policy.kind, policy.version);
    let name = path.display();
    let Some(kept) = read(&path)? else {
        return match writes {
            true => write(&path, now),
            false => Err(format!("{name} is missing: run this with {SWITCH}=write, and commit it")),
        };
    };
    let problems = fits::problems(&kept, now);
    if !problems.is_empty() {
        let version = policy.version;
        return Err(format!(
            "stored payloads of `{}` do not fit any more:\n  {}\n\
             Mend the struct, or make it `version = {}` with `upcast({version} = …)` and keep \
             {name}; delete the file if no such job was ever enqueued.",
            policy.kind,
            problems.join("\n  "),
            u32::from(version) + 1,
        ));
    }
    if shape::of(&kept) == shape::of(now) {
        return Ok(());
    }
    match writes {
        true => write(&path, now),
        false => Err(format!(
            "{name} is out of date, by a change that stored payloads bear: run this with \
             {SWITCH}=write, and commit it"
        )),
    }
}

/// Each file of an earlier version needs an `upcast`, as long as it is there.
fn earlier(policy: &Policy, folder: &Path) -> Result<(), String> {
    for version in (1..policy.version).filter(|version| !policy.upcasts.contains(version)) {
        let path = file(folder, policy.kind, version);
        if path.exists() {
            return Err(format!(
                "{} is there, but `{}` has no `upcast({version} = …)`: delete the file once no job \
                 of that version is left",
                path.display(),
                policy.kind,
            ));
        }
    }
    Ok(())
}

/// A kind may have characters that the name of a file may not.
fn file(folder: &Path, kind: &str, version: u16) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    let name = versioned(kind, version).replace(|c| !plain(c), "_");
    folder.join(name + ".json")
}

fn read(path: &Path) -> Result<Option<Value>, String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let schema = serde_json::from_str(&text);
    schema.map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, schema: &Value) -> Result<(), String> {
    let done = path.parent().map_or(Ok(()), fs::create_dir_all);
    let done = done.and_then(|()| fs::write(path, format!("{schema:#}\n")));
    done.map_err(|error| format!("{}: {error}", path.display()))
}
