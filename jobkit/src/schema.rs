//! The JSON schema of each payload, kept in a file next to the code, so that a change that stored
//! jobs do not fit fails a test instead of a deploy.

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
use crate::{JobType, Registration};

/// If this environment variable is `write`, files are written.
const SWITCH: &str = "JOBKIT_SCHEMAS";

impl Registration {
    /// Compares the JSON schema of `J` with the one stored in `folder`, a file for each kind and
    /// version: `send_receipt.json`, `send_receipt@2.json`. Call it in a test, and keep the files
    /// in version control.
    ///
    /// It fails on a change with which stored payloads would no longer decode, such as a new field
    /// without a default, and says what to do. It also fails on any other change until the file is
    /// updated: run the test with `JOBKIT_SCHEMAS=write` in the environment, and commit the file.
    /// It never overwrites a file with a schema that stored payloads do not fit.
    ///
    /// It cannot detect a payload that keeps its shape but changes its meaning, a field that was
    /// removed and comes back with another type, or a `Deserialize` that differs from `JsonSchema`.
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
    /// Which change breaks stored payloads, with the path inside the payload; that the file is
    /// missing or out of date; that there is a file of an earlier version but no `upcast` for it;
    /// or that the file cannot be read, parsed or written.
    pub fn check_schema<J: JobType + JsonSchema>(folder: impl AsRef<Path>) -> Result<(), String> {
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
            false => Err(format!(
                "{name} is missing: run this with {SWITCH}=write, and commit the \
                                  file"
            )),
        };
    };
    let problems = fits::problems(&kept, now);
    if !problems.is_empty() {
        let version = policy.version;
        return Err(format!(
            "stored payloads of `{}` no longer decode:\n  {}\n\
             Fix the struct, or make it `version = {}` with `upcast({version} = …)` and keep \
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
            "{name} is out of date, but stored payloads still decode: run this with \
             {SWITCH}=write, and commit it"
        )),
    }
}

/// Each file of an earlier version needs an `upcast`, as long as the file exists.
fn earlier(policy: &Policy, folder: &Path) -> Result<(), String> {
    for version in (1..policy.version).filter(|version| !policy.upcasts.contains(version)) {
        let path = file(folder, policy.kind, version);
        if path.exists() {
            return Err(format!(
                "{} exists, but `{}` has no `upcast({version} = …)`: delete the file once no job \
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
