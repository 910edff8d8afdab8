use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};

use crate::Registration;
use crate::encryption;
use crate::limits::{ATTEMPTS, CHUNKS, LINGERS, NAME_BYTES, PRIORITIES, VERSIONS};
use crate::policy::{Chunk, Concurrency, Policy, Subscription};
use crate::schedule::Declaration;
use crate::states::States;
use crate::version::{looks_versioned, versioned};

/// The jobs a worker can run, by every name they answer to.
pub(crate) struct Registry {
    registrations: Vec<Registration>,
    by_name: HashMap<String, Known>,
}

/// How this binary runs a stored job of some kind and version.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) registration: Registration,
    /// The kind or the alias that it is stored under.
    pub(crate) kind: &'static str,
    pub(crate) version: u16,
}

impl Known {
    /// Everything that a job type can run.
    fn of(registration: &Registration) -> impl Iterator<Item = Self> + use<> {
        let (registration, policy) = (*registration, *registration.policy());
        let versions = move || policy.upcasts.iter().copied().chain([policy.version]);
        let known = move |kind| versions().map(move |version| Self { registration, kind, version });
        names(&policy).flat_map(known)
    }

    fn name(&self) -> String {
        versioned(self.kind, self.version).into_owned()
    }
}

impl Registry {
    /// All jobs linked into this binary.
    pub(crate) fn linked() -> Self {
        Self::of(inventory::iter::<Registration>().copied())
    }

    /// The linked jobs of these types, and a problem for each that is not linked.
    pub(crate) fn only(types: &[(TypeId, &'static str)]) -> (Self, Vec<String>) {
        let linked = Self::linked().registrations;
        let has = |job: TypeId| linked.iter().any(|linked| linked.job_id() == job);
        let missing = types.iter().filter(|(job, _)| !has(*job)).map(|(_, name)| {
            format!("`{name}` has no `#[jobkit::job]`: list it with `Worker::jobs`")
        });
        let problems = missing.collect();
        let chosen = |r: &&Registration| types.iter().any(|(job, _)| *job == r.job_id());
        (Self::of(linked.iter().filter(chosen).copied()), problems)
    }

    /// These jobs and no others; one given twice counts once.
    pub(crate) fn of(registrations: impl IntoIterator<Item = Registration>) -> Self {
        let mut by_job = BTreeMap::new();
        for registration in registrations {
            by_job.insert((registration.job_name(), registration.job_id()), registration);
        }
        let registrations: Vec<_> = by_job.into_values().collect();
        let by_name = registrations.iter().flat_map(Known::of).map(|k| (k.name(), k)).collect();
        Self { registrations, by_name }
    }

    /// What runs jobs of this name: a kind, with the version from the second on.
    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.by_name.get(name)
    }

    /// What runs jobs of this kind or alias, in some version.
    pub(crate) fn of_kind(&self, kind: &str) -> Option<&Registration> {
        self.registrations.iter().find(|r| names(r.policy()).any(|name| name == kind))
    }

    /// Every kind and alias in each version that is known, sorted.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let mut names: Vec<_> = self.by_name.keys().cloned().collect();
        names.sort();
        names
    }

    /// The policy of every kind and alias, sorted, for the database.
    pub(crate) fn announcements(&self) -> Vec<Policy> {
        let of = |registration: &Registration| {
            let policy = Policy { takes_text: registration.takes_text(), ..*registration.policy() };
            names(registration.policy()).map(move |kind| Policy { kind, ..policy })
        };
        let mut all: Vec<Policy> = self.registrations.iter().flat_map(of).collect();
        all.sort_by_key(|policy| policy.kind);
        all
    }

    /// The policies, in the order of their kinds.
    pub(crate) fn policies(&self) -> Vec<Policy> {
        let mut policies: Vec<_> = self.registrations.iter().map(|r| *r.policy()).collect();
        policies.sort_by_key(|policy| policy.kind);
        policies
    }

    /// The subscriptions for the database: topic, kind, and perhaps an alias, for each kind and
    /// alias.
    pub(crate) fn subscriptions(&self) -> Vec<Subscription> {
        let of = |policy: Policy| {
            let aliases = policy.aliases.iter().map(|alias| Some(*alias)).chain([None]);
            policy.topic.map(|topic| aliases.map(move |alias| (topic, policy.kind, alias)))
        };
        self.policies().into_iter().filter_map(of).flatten().collect()
    }

    /// The schedules that these jobs declare, named after their kinds.
    pub(crate) fn schedules(&self) -> Vec<Declaration> {
        let declared = |registration: &Registration| {
            let (times, job) = registration.scheduled()?;
            Some(Declaration::new(registration.policy().kind.to_owned(), times.into(), job))
        };
        self.registrations.iter().filter_map(declared).collect()
    }

    /// What is wrong with these jobs for a worker that has these states, one sentence each.
    pub(crate) fn problems(&self, states: &States) -> Vec<String> {
        let mut problems = self.declared_problems();
        self.missing_states(states, &mut problems);
        self.missing_keys(&mut problems);
        problems
    }

    /// What is wrong with these jobs when they are announced, one sentence each.
    pub(crate) fn declared_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.registrations.is_empty() {
            problems.push(
                "no job is linked into this binary: annotate one with `#[jobkit::job]`, or list \
                 them with `Worker::jobs` if they live in a crate the linker drops"
                    .to_owned(),
            );
        }
        self.shared_kinds(&mut problems);
        self.disputed_limits(&mut problems);
        self.long_names(&mut problems);
        self.out_of_range(&mut problems);
        self.slow_chunks(&mut problems);
        self.keyed_subscribers(&mut problems);
        problems
    }

    fn missing_states(&self, states: &States, problems: &mut Vec<String>) {
        for registration in &self.registrations {
            let (state, name) = registration.state();
            if !states.contains(state) {
                let kind = registration.policy().kind;
                problems.push(format!(
                    "job `{kind}` needs the state `{name}`: set it with `Worker::state`, or run \
                     only other jobs, with `Worker::only` or `Worker::jobs`"
                ));
            }
        }
    }

    /// Without any key, a worker could run none of these jobs.
    fn missing_keys(&self, problems: &mut Vec<String>) {
        let sealed = self.policies().into_iter().filter(|policy| !policy.encrypt.is_empty());
        for Policy { kind, .. } in sealed.filter(|_| !encryption::has_keys()) {
            problems.push(format!(
                "job `{kind}` encrypts fields, but this process has no keys: set them with \
                 `jobkit::policy::encryption::keys` first, or run only other jobs"
            ));
        }
    }

    fn shared_kinds(&self, problems: &mut Vec<String>) {
        let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for registration in &self.registrations {
            for kind in names(registration.policy()) {
                owners.entry(kind).or_default().push(registration.job_name());
            }
        }
        for (kind, jobs) in owners.into_iter().filter(|(_, jobs)| jobs.len() > 1) {
            let jobs = jobs.join("` and `");
            problems.push(format!(
                "the kind `{kind}` is claimed by `{jobs}`: give one of them another `kind`"
            ));
        }
    }

    fn disputed_limits(&self, problems: &mut Vec<String>) {
        let mut groups: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
        for Policy { kind, concurrency, rate, .. } in self.policies() {
            if let Some(Concurrency { group, limit }) = concurrency {
                let rate = rate.map_or(String::new(), |rate| format!(" and the rate {rate}"));
                groups.entry(group).or_default().push((format!("limit {limit}{rate}"), kind));
            }
        }
        for (group, limits) in groups {
            let (limit, kind) = &limits[0];
            for (other, rival) in limits.iter().filter(|(other, _)| other != limit) {
                let other = other.strip_prefix("limit ").unwrap_or(other);
                problems.push(format!(
                    "the concurrency group `{group}` has {limit} in job `{kind}` and {other} in \
                     job `{rival}`: jobs that share a group must agree"
                ));
            }
        }
    }

    fn long_names(&self, problems: &mut Vec<String>) {
        for policy in self.policies() {
            for name in names(&policy).filter(|name| looks_versioned(name)) {
                problems.push(format!(
                    "the kind `{name}` ends with `@` and a number, which is for versions: give \
                     it another name"
                ));
            }
            let group = policy.concurrency.map(|concurrency| concurrency.group);
            for name in names(&policy).chain([policy.queue]).chain(group) {
                if name.is_empty() || name.len() > NAME_BYTES {
                    let kind = policy.kind;
                    problems.push(format!(
                        "job `{kind}`: the name `{name}` must have 1 to {NAME_BYTES} bytes"
                    ));
                }
            }
        }
    }

    fn slow_chunks(&self, problems: &mut Vec<String>) {
        for Policy { kind, chunk, timeout, .. } in self.policies() {
            let Some(Chunk { max, linger }) = chunk else { continue };
            if !CHUNKS.contains(&max) || !LINGERS.contains(&linger) {
                problems.push(format!(
                    "job `{kind}`: `chunk` must be 1 to 1000, and `linger` 1 ms to 1 minute"
                ));
            }
            if timeout.is_some_and(|timeout| timeout <= linger) {
                problems.push(format!(
                    "job `{kind}` may time out while it waits for its chunk: make `linger` shorter \
                     than the timeout"
                ));
            }
        }
    }

    fn keyed_subscribers(&self, problems: &mut Vec<String>) {
        for Policy { kind, topic, concurrency, unique, coalesce, .. } in self.policies() {
            let Some(topic) = topic else { continue };
            if topic.is_empty() || topic.len() > NAME_BYTES {
                problems.push(format!(
                    "job `{kind}`: the name of the topic `{topic}` must have 1 to {NAME_BYTES} \
                     bytes"
                ));
            }
            if concurrency.is_some() || unique.is_some() || coalesce.is_some() {
                problems.push(format!(
                    "job `{kind}` subscribes to `{topic}`, so it cannot have a key, which a \
                     publisher cannot compute: remove the key or the topic"
                ));
            }
        }
    }

    fn out_of_range(&self, problems: &mut Vec<String>) {
        for Policy { kind, priority, max_attempts, version, upcasts, .. } in self.policies() {
            let is_earlier = |earlier: &u16| (1..version).contains(earlier);
            if !VERSIONS.contains(&version) || !upcasts.iter().all(is_earlier) {
                problems.push(format!(
                    "job `{kind}`: its version must be 1 to 32767, and the versions it upcasts \
                     must be lower"
                ));
            }
            if !PRIORITIES.contains(&priority) {
                problems.push(format!("job `{kind}`: the priority {priority} must be −3 to 3"));
            }
            if !ATTEMPTS.contains(&max_attempts) {
                problems
                    .push(format!("job `{kind}`: the {max_attempts} attempts must be 1 to 1000"));
            }
        }
    }
}

/// The kind and its aliases.
fn names(policy: &Policy) -> impl Iterator<Item = &'static str> + use<> {
    [policy.kind].into_iter().chain(policy.aliases.iter().copied())
}
