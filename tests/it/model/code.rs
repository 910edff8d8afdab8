//! States that differ in names only have the same code.

use jobkit_tests::model::{Claim, Model, Place, Scope, State, Worker};

/// A state in a few bytes. Two workers of like roles may change places; of the number of a claim
/// only counts which jobs it lists; and of an outcome that comes too late only the job.
pub(crate) type Code = u128;

/// The code of a state.
pub(crate) fn code(model: &Model, state: &State) -> Code {
    let roles: Vec<usize> = (0..model.roles.len()).collect();
    let like = roles.len() == 2 && model.roles[0] == model.roles[1] && state.early.is_none();
    let straight = code_in_order(state, &roles);
    if like { straight.min(code_in_order(state, &[1, 0])) } else { straight }
}

/// Numbers put side by side.
struct Digits(Code);

impl Digits {
    fn push(&mut self, bits: u32, value: usize) {
        debug_assert!(value < 1 << bits, "{value} has more than {bits} bits");
        self.0 = self.0 << bits | value as Code;
    }
}

fn code_in_order(state: &State, roles: &[usize]) -> Code {
    let rows: Vec<Option<&Worker>> =
        roles.iter().map(|role| state.workers.iter().find(|worker| worker.role == *role)).collect();
    let mut digits = Digits(1);
    digits.push(3, state.limit as usize);
    digits.push(3, state.taken as usize);
    // Two queues, two kinds and everything, in whatever order they were paused.
    let paused = state.paused.iter().map(|scope| match scope {
        Scope::Queue(queue) => 1 << queue,
        Scope::Kind(kind) => 4 << kind,
        Scope::All => 16,
    });
    digits.push(5, paused.sum());
    digits.push(1, usize::from(state.due));
    digits.push(3, state.ahead as usize);
    digits.push(3, state.begun as usize);
    digits.push(3, state.look_in.map_or(0, |slots| 1 + slots as usize));
    for row in &rows {
        let phase = row
            .map_or(0, |worker| 1 + usize::from(worker.stopping) + 2 * usize::from(worker.crashed));
        digits.push(3, phase);
    }
    for (id, job) in state.jobs() {
        let late = state.late.iter().any(|(_, late)| *late == id);
        digits
            .push(3, usize::from(job.permit) + 2 * usize::from(job.marked) + 4 * usize::from(late));
        digits.push(1, usize::from(job.reserved));
        digits.push(2, usize::from(job.charged));
        let place = match job.place {
            Place::Absent => 0,
            Place::Scheduled => 1,
            Place::Ready { permit: false } => 2,
            Place::Ready { permit: true } => 3,
            Place::Blocked => 4,
            Place::Finished => 5,
            Place::Running(claim) => 6 + running(state, &rows, claim),
        };
        digits.push(5, place);
    }
    digits.0
}

/// Whose claim it is (a worker of one of two roles, or one that was reaped) and its first job.
fn running(state: &State, rows: &[Option<&Worker>], claim: Claim) -> usize {
    let is_owner = |row: &Option<&Worker>| row.is_some_and(|worker| worker.id == claim.worker);
    let owner = rows.iter().position(is_owner).unwrap_or(rows.len());
    let place = Place::Running(claim);
    let first = state.jobs.iter().position(|job| job.place == place).unwrap_or_default();
    (rows.len() + 1) * first + owner
}
