//! What the code of a worker says of schedules. Of several binaries the newest is heard of which a
//! worker lives.

use std::collections::HashSet;

use super::ticker;
use crate::error::DatabaseError;
use crate::migrate::checksum;
use crate::schedule::Times;
use crate::store::{Link, NewSchedule, clock, declaration, declare_schedules, schedules_of_others};

/// Schedules in code, and the number that the whole of them has in the database.
#[derive(Clone)]
pub(crate) struct Declared {
    schedules: Vec<(Times, NewSchedule)>,
    number: Option<i64>,
    /// Those whose times are a newer binary's, which was said.
    stay: HashSet<String>,
}

impl Declared {
    pub(super) fn new(schedules: Vec<(Times, NewSchedule)>) -> Self {
        Self { schedules, number: None, stay: HashSet::new() }
    }

    /// Its number, once it was told.
    pub(super) fn number(&self) -> Option<i64> {
        self.number
    }

    /// Tells the database.
    pub(super) async fn tell(&mut self, link: &mut Link) -> Result<(), DatabaseError> {
        if self.schedules.is_empty() {
            return Ok(());
        }
        let number = ticker::insist(link, &declaration(&self.digest())).await?;
        self.number = Some(number);
        self.declare(link, number).await
    }

    /// Tells it again, where a schedule is as another binary says.
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
                    "jobkit: a newer binary with a live worker declares other times of a schedule, \
                     which stay while it lives"
                );
            }
        }
        Ok(())
    }

    /// Of what each process of one release says, whatever the order. The payload and what goes with
    /// it may be of one process: its host, or when it started.
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
