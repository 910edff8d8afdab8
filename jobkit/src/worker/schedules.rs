//! The schedules in the code of a worker. If binaries differ, the newest one with a live worker
//! decides.

use std::collections::HashSet;

use super::ticker;
use crate::error::DatabaseError;
use crate::migrate::checksum;
use crate::schedule::Times;
use crate::store::{Link, NewSchedule, clock, declaration, declare_schedules, schedules_of_others};

/// Schedules in code, and the number of this set in the database.
#[derive(Clone)]
pub(crate) struct DeclaredSchedules {
    schedules: Vec<(Times, NewSchedule)>,
    number: Option<i64>,
    /// Those that keep the times of a newer binary, which was logged.
    stay: HashSet<String>,
}

impl DeclaredSchedules {
    pub(super) fn new(schedules: Vec<(Times, NewSchedule)>) -> Self {
        Self { schedules, number: None, stay: HashSet::new() }
    }

    /// Its number, once it was declared.
    pub(super) fn number(&self) -> Option<i64> {
        self.number
    }

    /// Declares them in the database.
    pub(super) async fn tell(&mut self, link: &mut Link) -> Result<(), DatabaseError> {
        if self.schedules.is_empty() {
            return Ok(());
        }
        let number = ticker::insist(link, &declaration(&self.digest())).await?;
        self.number = Some(number);
        self.declare(link, number).await
    }

    /// Declares them again, if a schedule is from another binary.
    pub(crate) async fn tell_again(&mut self, link: &mut Link) -> Result<(), DatabaseError> {
        let Some(number) = self.number else { return Ok(()) };
        let names: Vec<&str> = self.schedules.iter().map(|(_, it)| &*it.name).collect();
        if link.call(&schedules_of_others(&names, number)).await? {
            self.declare(link, number).await?;
        }
        Ok(())
    }

    async fn declare(&mut self, link: &mut Link, number: i64) -> Result<(), DatabaseError> {
        let now = ticker::insist(link, &clock()).await?;
        for (times, schedule) in &mut self.schedules {
            schedule.next_at = times.next_after(now).map(|next| next.to_rfc3339());
        }
        let declared: Vec<&NewSchedule> =
            self.schedules.iter().map(|(_, schedule)| schedule).collect();
        let told = ticker::insist(link, &declare_schedules(&declared, Some(number))).await?;
        for (schedule, declared, says, stays) in told {
            if !stays {
                self.stay.remove(&schedule);
                tracing::info!(
                    schedule,
                    old = declared,
                    new = says,
                    "jobkit: this binary changed the times of a schedule"
                );
            } else if self.stay.insert(schedule.clone()) {
                tracing::warn!(
                    schedule,
                    declared,
                    says,
                    "jobkit: a newer binary with a live worker declares other times for a \
                     schedule, which apply while it lives"
                );
            }
        }
        Ok(())
    }

    /// A digest that is the same for each process of a release, whatever the order. It excludes the
    /// payload and its metadata, which may depend on the process: its host, or when it started.
    fn digest(&self) -> String {
        let said = self.schedules.iter().map(|(_, schedule)| {
            let schedule = NewSchedule {
                next_at: None,
                args: String::new(),
                concurrency_key: None,
                dead_letter_key: None,
                tags: None,
                metadata: None,
                ..schedule.clone()
            };
            serde_json::to_string(&schedule).unwrap_or_default()
        });
        let mut said: Vec<String> = said.collect();
        said.sort_unstable();
        checksum(&said.concat())
    }
}
