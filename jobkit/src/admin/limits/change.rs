use serde_json::{Map, Value, json};

use super::Scope;
use crate::error::InvalidValue;
use crate::limits::{self, LIMIT};
use crate::policy::Rate;
use crate::store::interval_text;

/// What [`LimitHandle::set`](super::LimitHandle::set) changes. What it does not name stays as it
/// is.
///
/// Code and operators say limits, and what an operator said goes first. Each part takes a value, or
/// one of [`To`].
///
/// ```
/// use jobkit::admin::limits::{Change, Rate, To};
///
/// # fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let rate: Rate = "100/min".parse()?;
/// let change = Change::new().running(3).rate(rate).waiting(To::Reset);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a change does nothing until it is given to `set`"]
pub struct Change {
    running: Option<To<u32>>,
    rate: Option<To<Rate>>,
    waiting: Option<To<u32>>,
}

/// To what a part of a limit is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To<T> {
    /// What the code says; what an operator said is taken back.
    Reset,
    /// There is no limit, whatever the code says.
    NoLimit,
    /// This.
    Value(T),
}

impl<T> From<T> for To<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl Change {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many jobs may run at a time, 0 to 1,000,000; with 0 none starts. Running ones continue,
    /// so after it was lowered more may run for a while.
    pub fn running(self, most: impl Into<To<u32>>) -> Self {
        Self { running: Some(most.into()), ..self }
    }

    /// How often jobs may start: one every 100 microseconds to 30 days, in bursts of 1 to
    /// 1,000,000. Each attempt counts. No job waits for a slot longer than a new rate requires.
    pub fn rate(self, rate: impl Into<To<Rate>>) -> Self {
        Self { rate: Some(rate.into()), ..self }
    }

    /// How many jobs of a queue may wait, ready or for a permit, 1 to 1,000,000. Beyond that,
    /// enqueues fail with [`QueueFull`](crate::error::QueueFull) until a tenth of it is free again.
    ///
    /// Workers count once a second, so a few more may wait: those enqueued within a second, and
    /// those of open transactions. Stored jobs are never dropped. Retries, snoozes, replays,
    /// schedules and delayed jobs that become due are never refused.
    pub fn waiting(self, most: impl Into<To<u32>>) -> Self {
        Self { waiting: Some(most.into()), ..self }
    }

    /// Whether it may let more than a thousand jobs of a key run.
    pub(super) fn frees_many(&self) -> bool {
        self.running.is_some_and(|to| !matches!(to, To::Value(0..=1000)))
    }

    /// Checks it, and returns it as the database reads it.
    pub(super) fn rule(&self, scope: &Scope) -> Result<Value, InvalidValue> {
        if matches!(scope, Scope::All) {
            return Err(scope.refuse("limit"));
        }
        let mut rule = Map::new();
        if let Some(to) = self.running {
            if matches!(scope, Scope::Limiter(_)) {
                return Err(scope.refuse("limit of running jobs"));
            }
            let check = |most| limits::range("limit", most, 0..=LIMIT, "0 to 1000000");
            rule.insert("running".to_owned(), to.said(check, |most| json!(most))?);
        }
        if let Some(to) = self.rate {
            rule.insert("rate".to_owned(), to.said(limits::rate, of_rate)?);
        }
        if let Some(to) = self.waiting {
            if !matches!(scope, Scope::Queue(_)) {
                return Err(scope.refuse("limit of waiting jobs"));
            }
            let check = |most| limits::range("limit", most, 1..=LIMIT, "1 to 1000000");
            rule.insert("waiting".to_owned(), to.said(check, |most| json!(most))?);
        }
        Ok(rule.into())
    }
}

fn of_rate(rate: Rate) -> Value {
    json!({"every": interval_text(rate.every), "burst": rate.burst})
}

impl<T: Copy> To<T> {
    fn said(
        self,
        check: impl Fn(T) -> Result<(), InvalidValue>,
        value: impl Fn(T) -> Value,
    ) -> Result<Value, InvalidValue> {
        Ok(match self {
            Self::Reset => Value::Null,
            Self::NoLimit => json!("none"),
            Self::Value(given) => {
                check(given)?;
                value(given)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rule_has_what_changes_and_nothing_else() {
        let rate = Rate::per(100, Duration::from_secs(60));
        let queue = Scope::Queue("mail".into());
        let rule = |change: Change| change.rule(&queue).map(|rule| rule.to_string()).ok();
        assert_eq!(rule(Change::new()).as_deref(), Some("{}"));
        let all = Change::new().running(3).rate(rate).waiting(To::Reset);
        let text = r#"{"rate":{"burst":1,"every":"0:00:00.600000"},"running":3,"waiting":null}"#;
        assert_eq!(rule(all).as_deref(), Some(text));
        assert_eq!(rule(Change::new().rate(To::NoLimit)).as_deref(), Some(r#"{"rate":"none"}"#));
        assert_eq!(rule(Change::new().waiting(0)), None);
        assert_eq!(rule(Change::new().running(1_000_001)), None);
        assert_eq!(rule(Change::new().rate(rate.burst(0))), None);
    }

    #[test]
    fn not_everything_has_every_limit() {
        let refused = |scope: Scope, change: Change| {
            change.rule(&scope).expect_err("there is no such limit").to_string()
        };
        let text = refused(Scope::All, Change::new().running(3));
        assert_eq!(text, "everything has no limit");
        let text = refused(Scope::Kind("k".into()), Change::new().waiting(3));
        assert_eq!(text, "a kind has no limit of waiting jobs");
        let text = refused(Scope::Limiter("l".into()), Change::new().running(To::NoLimit));
        assert_eq!(text, "a limiter has no limit of running jobs");
    }
}
