/// A job that waits for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Lower ones first.
    pub priority: i16,
    /// Among equal priorities, lower ones first.
    pub id: i64,
    /// Whether some worker could run it now.
    pub served: bool,
}

/// The jobs that get a permit, in order: as many as permits are free, the first that are served.
///
/// A limit that was lowered below what is taken leaves none free.
pub fn grant(limit: u32, taken: u32, waiting: &[Waiting]) -> Vec<i64> {
    let mut served: Vec<_> = waiting.iter().filter(|job| job.served).collect();
    served.sort_unstable_by_key(|job| (job.priority, job.id));
    let free = limit.saturating_sub(taken) as usize;
    served.iter().take(free).map(|job| job.id).collect()
}
