/// A row of the tables, by what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The batch: it is there while it is open.
    Batch,
    /// That the batch may still be filled: a column of its row, which the server locks apart from
    /// its key.
    Open,
    /// The callback, while it waits.
    Callback,
    /// The callback, once it is ready.
    Ready,
    /// A member that has not ended.
    Member(u8),
    /// The claim of a member that runs.
    Claim(u8),
    /// What a program adds when it ends a member or closes the batch.
    Tally(u8),
}

const MEMBERS: usize = 4;
const PROGRAMS: usize = 6;
const ROWS: usize = 4 + 2 * MEMBERS + PROGRAMS;

impl Row {
    pub(super) fn at(self) -> usize {
        match self {
            Self::Batch => 0,
            Self::Open => 1,
            Self::Callback => 2,
            Self::Ready => 3,
            Self::Member(job) => 4 + usize::from(job),
            Self::Claim(job) => 4 + MEMBERS + usize::from(job),
            Self::Tally(program) => 4 + 2 * MEMBERS + usize::from(program),
        }
    }

    pub(super) fn members() -> impl Iterator<Item = Self> {
        (0..MEMBERS as u8).map(Self::Member)
    }

    pub(super) fn claims() -> impl Iterator<Item = Self> {
        (0..MEMBERS as u8).map(Self::Claim)
    }

    pub(super) fn tallies() -> impl Iterator<Item = Self> {
        (0..PROGRAMS as u8).map(Self::Tally)
    }
}

/// Which rows are there, as a statement saw it.
pub(super) type Snapshot = u32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Cell {
    committed: bool,
    /// What a program has made of it, before its commit.
    pending: Option<(u8, bool)>,
    /// Who has it locked, FOR UPDATE …
    locked: Option<u8>,
    /// … or FOR KEY SHARE, one bit each.
    shared: u8,
}

/// The tables: what is committed, and what is not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct World {
    cells: [Cell; ROWS],
}

impl World {
    /// A world in which these rows are there.
    pub fn new(rows: &[Row]) -> Self {
        let mut world = Self::default();
        for row in rows {
            world.cells[row.at()].committed = true;
        }
        world
    }

    /// Whether a row is committed.
    pub fn has(&self, row: Row) -> bool {
        self.cells[row.at()].committed
    }

    /// What a statement of this program sees that begins now.
    pub(super) fn snapshot(&self, program: u8) -> Snapshot {
        let sees = |cell: &Cell| match cell.pending {
            Some((by, there)) if by == program => there,
            _ => cell.committed,
        };
        let seen = self.cells.iter().enumerate().filter(|(_, cell)| sees(cell));
        seen.fold(0, |seen, (at, _)| seen | 1 << at)
    }

    /// Whether somebody else has it locked in a way that keeps this program from an exclusive lock.
    pub(super) fn is_taken(&self, program: u8, row: Row) -> bool {
        let cell = &self.cells[row.at()];
        cell.locked.is_some_and(|by| by != program) || cell.shared & !(1 << program) != 0
    }

    /// Locks a row FOR UPDATE; `None`: the statement has to wait. Answers whether it is there, as
    /// of now: a statement that waited looks at the row again.
    pub(super) fn lock(&mut self, program: u8, row: Row) -> Option<bool> {
        if self.is_taken(program, row) {
            return None;
        }
        let there = self.snapshot(program) >> row.at() & 1 == 1;
        self.cells[row.at()].locked = there.then_some(program);
        Some(there)
    }

    /// Locks a row FOR KEY SHARE.
    pub(super) fn share(&mut self, program: u8, row: Row) -> Option<bool> {
        let cell = &mut self.cells[row.at()];
        if cell.locked.is_some_and(|by| by != program) {
            return None;
        }
        cell.shared |= u8::from(cell.committed) << program;
        Some(cell.committed)
    }

    /// Makes a row, or deletes one that is locked, as far as this program is concerned.
    pub(super) fn write(&mut self, program: u8, row: Row, there: bool) {
        self.cells[row.at()].pending = Some((program, there));
    }

    /// Ends the transaction of a program.
    pub(super) fn end(&mut self, program: u8, commit: bool) {
        for cell in &mut self.cells {
            if let Some((by, there)) = cell.pending
                && by == program
            {
                cell.committed = if commit { there } else { cell.committed };
                cell.pending = None;
            }
            cell.locked = cell.locked.filter(|by| *by != program);
            cell.shared &= !(1 << program);
        }
    }
}
