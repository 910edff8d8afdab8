//! Keys of sealed payloads.

use jobkit::admin::encryption::{Resealed, SealedWith};
use jobkit::policy::encryption::{self, Keyring, KeyringError};
use serde_json::json;

use super::answer::{Answer, Failure, table, tell};
use super::desk::{Answered, Desk};
use crate::format::show::large;

#[derive(Debug, clap::Args)]
pub(super) struct Reseal {
    /// Only payloads of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// The key to seal with, one of JOBKIT_KEYS [default: the first]
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// Only counts payloads by the key they are sealed with; needs no keys
    #[arg(long, conflicts_with = "to")]
    dry_run: bool,
}

/// Seals and opens with the keys in the environment, if there are any.
pub(super) fn keys() -> Result<(), Failure> {
    match Keyring::from_env() {
        Ok(keys) => encryption::keys(keys),
        Err(KeyringError::Missing) => {}
        Err(error) => return Err(wrong(&error)),
    }
    Ok(())
}

fn wrong(error: &KeyringError) -> Failure {
    Failure::usage(format!("JOBKIT_KEYS: {error}"))
}

impl Reseal {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        if self.dry_run {
            let sealed = desk.admin.sealed(self.kind.as_deref()).await?;
            let items: Vec<_> = sealed.iter().map(counted).collect();
            let headings = ["key", "jobs", "dead letters", "schedules"];
            let text = match &*sealed {
                [] => "Nothing is sealed.".to_owned(),
                sealed => table(headings, sealed.iter().map(row).collect()),
            };
            return Ok(Answer::new(json!({ "items": items }), text));
        }
        let keys = Keyring::from_env().map_err(|error| wrong(&error))?;
        if let Some(to) = &self.to {
            encryption::keys(keys.sealing_with(to).map_err(|error| wrong(&error))?);
        }
        let mut reseal = desk.admin.reseal();
        if let Some(kind) = self.kind {
            reseal = reseal.kind(kind);
        }
        if !desk.json {
            reseal = reseal.progress(|now| tell(&format!("{} resealed", large(&all(now)))));
        }
        let done = reseal.await?;
        let json = json!({
            "key": done.key, "jobs": done.jobs, "dead_letters": done.dead_letters,
            "schedules": done.schedules, "left": done.left, "why": done.why,
        });
        Ok(Answer::done(json, &sentence(&done)).wrong(done.left > 0))
    }
}

fn counted(
    SealedWith { key, jobs, dead_letters, schedules, .. }: &SealedWith,
) -> serde_json::Value {
    json!({"key": key, "jobs": jobs, "dead_letters": dead_letters, "schedules": schedules})
}

fn row(sealed: &SealedWith) -> [String; 4] {
    let SealedWith { key, jobs, dead_letters, schedules, .. } = sealed;
    [key.clone(), large(jobs), large(dead_letters), large(schedules)]
}

fn all(done: &Resealed) -> u64 {
    done.jobs + done.dead_letters + done.schedules
}

fn sentence(done: &Resealed) -> String {
    let Resealed { key, jobs, dead_letters, schedules, left, why, .. } = done;
    let mut text = format!(
        "Resealed with the key {key}: {} jobs, {} dead letters, {} schedules.",
        large(jobs),
        large(dead_letters),
        large(schedules)
    );
    if *left > 0 {
        text.push_str(&format!(" Not resealed: {}.", large(left)));
    }
    why.iter().for_each(|why| text.push_str(&format!(" For example, {why}.")));
    text
}
