use super::world::{Row, Snapshot, World};

/// A transaction, as jobkit or its user sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Writes the end of a member that runs.
    Settle(u8),
    /// Takes the claim of a member from a worker that died; a new one takes it at once.
    Reap(u8),
    /// A member that runs adds another one.
    AddByMember(u8, u8),
    /// Who opened the batch adds a member.
    AddByOpener(u8),
    /// Who opened the batch closes it.
    Close,
    /// Takes tallies and looks whether the batch has ended. It begins again as long as there are
    /// tallies.
    Look,
    /// Cancels the callback, or fails at it.
    CancelCallback,
}

/// A design that some order of statements refutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// An end adds a tally only if it sees no other member.
    TallyOfLast,
    /// A reap lets the member leave, too.
    ReapEnds,
    /// A look sees members as of a statement before the one that takes the tallies.
    LookEarly,
    /// A look sees members as of a statement before the one that locks the batch.
    LookUnlocked,
    /// A look commits that it took the tallies before it looks.
    TakeApart,
    /// A look goes on where somebody has the batch locked, and leaves no tally.
    HeldSkipped,
    /// The callback becomes ready in a transaction after that of the look.
    CallbackApart,
    /// A look makes the callback ready without asking whether the batch is still open.
    EndUnchecked,
    /// A look goes on where somebody has the callback locked, and leaves no tally.
    CallbackSkipped,
    /// Who adds members does not lock the batch.
    AddUnlocked,
    /// Who adds members locks the batch, and does not ask whether it has ended.
    AddUnchecked,
    /// A close adds no tally.
    CloseQuietly,
}

/// What is next for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Now {
    /// Its statement of this number.
    At(u8),
    Ended,
}

/// Part of what was seen early, so that it is not nothing.
const EARLY: Snapshot = 1 << 31;

/// A program on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub(super) program: Program,
    pub(super) now: Now,
    /// What an earlier statement saw.
    seen: Snapshot,
}

/// What a statement came to.
pub(super) enum Did {
    /// It has to wait for a lock.
    Waits,
    Next,
    /// The next statement has the same number.
    Stays,
    Commits,
    /// It rolls back for good.
    Fails,
}

impl Session {
    pub(super) fn new(program: Program) -> Self {
        Self { program, now: Now::At(0), seen: 0 }
    }

    /// Runs the next statement. `me` is the number of this program.
    pub(super) fn step(&mut self, me: u8, world: &mut World, wrong: Option<Mistake>) -> bool {
        let Now::At(at) = self.now else { return false };
        let did = match self.program {
            Program::Settle(job) => settle(world, me, job, at, wrong),
            Program::Reap(job) => reap(world, me, job, at, wrong),
            Program::AddByMember(job, new) => add(world, me, Row::Member(job), new, at, wrong),
            Program::AddByOpener(new) => add(world, me, Row::Open, new, at, wrong),
            Program::Close => close(world, me, at, wrong),
            Program::Look => self.look(world, me, at, wrong),
            Program::CancelCallback => cancel(world, me, at),
        };
        if matches!(did, Did::Fails | Did::Commits) {
            self.seen = 0;
        }
        self.now = match did {
            Did::Waits => return false,
            Did::Next => Now::At(at + 1),
            Did::Stays => Now::At(at),
            Did::Fails => {
                world.end(me, false);
                Now::Ended
            }
            Did::Commits => {
                world.end(me, true);
                if self.program == Program::Look { Now::At(0) } else { Now::Ended }
            }
        };
        true
    }

    /// Takes the tallies that nobody else takes, locks the batch, looks for members, ends it.
    fn look(&mut self, world: &mut World, me: u8, at: u8, wrong: Option<Mistake>) -> Did {
        match at {
            0 if wrong == Some(Mistake::LookEarly) && self.seen == 0 => {
                self.seen = world.snapshot(me) | EARLY;
                Did::Stays
            }
            0 => take(world, me, wrong),
            1 if wrong == Some(Mistake::LookUnlocked) && self.seen == 0 => {
                self.seen = world.snapshot(me) | EARLY;
                Did::Stays
            }
            1 => hold(world, me, wrong),
            2 => {
                if self.seen == 0 {
                    self.seen = world.snapshot(me);
                }
                let open = Row::members().chain([Row::Open]);
                let is_empty = !open.into_iter().any(|row| self.seen >> row.at() & 1 == 1);
                if is_empty { Did::Next } else { Did::Commits }
            }
            3 => end(world, me, wrong),
            _ => call(world, me),
        }
    }
}

fn take(world: &mut World, me: u8, wrong: Option<Mistake>) -> Did {
    let mut took = false;
    for tally in Row::tallies() {
        if !world.is_taken(me, tally) && world.lock(me, tally) == Some(true) {
            world.write(me, tally, false);
            took = true;
        }
    }
    if wrong == Some(Mistake::TakeApart) && took {
        world.end(me, true);
    }
    if took { Did::Next } else { Did::Waits }
}

/// Locks the batch, unless it has ended. Where somebody holds it, a tally stays for a next look.
fn hold(world: &mut World, me: u8, wrong: Option<Mistake>) -> Did {
    if world.is_taken(me, Row::Batch) || world.is_taken(me, Row::Open) {
        return put_off(world, me, wrong == Some(Mistake::HeldSkipped));
    }
    world.lock(me, Row::Open);
    let is_open = world.lock(me, Row::Batch) == Some(true);
    if is_open || wrong == Some(Mistake::EndUnchecked) { Did::Next } else { Did::Commits }
}

fn put_off(world: &mut World, me: u8, forgets: bool) -> Did {
    if !forgets {
        world.write(me, Row::Tally(me), true);
    }
    Did::Commits
}

/// Ends the batch, unless somebody has the callback locked.
fn end(world: &mut World, me: u8, wrong: Option<Mistake>) -> Did {
    if world.is_taken(me, Row::Callback) {
        let skips = wrong == Some(Mistake::CallbackSkipped);
        if skips {
            world.write(me, Row::Batch, false);
        }
        return put_off(world, me, skips);
    }
    world.write(me, Row::Batch, false);
    if wrong == Some(Mistake::CallbackApart) {
        world.end(me, true);
    }
    Did::Next
}

/// Makes the callback ready, if it waits.
fn call(world: &mut World, me: u8) -> Did {
    if world.is_taken(me, Row::Callback) {
        return Did::Waits;
    }
    world.lock(me, Row::Callback);
    world.write(me, Row::Callback, false);
    world.write(me, Row::Ready, true);
    Did::Commits
}

/// The claim, the member's row, the tally.
fn settle(world: &mut World, me: u8, job: u8, at: u8, wrong: Option<Mistake>) -> Did {
    match at {
        0 => match world.lock(me, Row::Claim(job)) {
            None => Did::Waits,
            Some(false) => Did::Fails,
            Some(true) => {
                world.write(me, Row::Claim(job), false);
                Did::Next
            }
        },
        1 => match world.lock(me, Row::Member(job)) {
            None => Did::Waits,
            Some(_) => {
                world.write(me, Row::Member(job), false);
                let seen = world.snapshot(me);
                let last = !Row::members().any(|row| seen >> row.at() & 1 == 1);
                if last || wrong != Some(Mistake::TallyOfLast) {
                    world.write(me, Row::Tally(me), true);
                }
                Did::Next
            }
        },
        _ => Did::Commits,
    }
}

fn reap(world: &mut World, me: u8, job: u8, at: u8, wrong: Option<Mistake>) -> Did {
    match (at, world.lock(me, Row::Claim(job))) {
        (0, None) => Did::Waits,
        (0, Some(false)) => Did::Fails,
        (0, Some(true)) => {
            if wrong == Some(Mistake::ReapEnds) {
                world.write(me, Row::Member(job), false);
                world.write(me, Row::Tally(me), true);
            }
            Did::Next
        }
        _ => Did::Commits,
    }
}

/// The batch, then whether the adder may (`allows`), then the new member, which runs at once.
fn add(world: &mut World, me: u8, allows: Row, new: u8, at: u8, wrong: Option<Mistake>) -> Did {
    let sees = |world: &World, row: Row| world.snapshot(me) >> row.at() & 1 == 1;
    match at {
        0 if wrong == Some(Mistake::AddUnlocked) => {
            if world.has(Row::Batch) {
                Did::Next
            } else {
                Did::Fails
            }
        }
        0 => match world.share(me, Row::Batch) {
            None => Did::Waits,
            Some(false) if wrong != Some(Mistake::AddUnchecked) => Did::Fails,
            Some(_) => Did::Next,
        },
        1 if sees(world, allows) || wrong == Some(Mistake::AddUnchecked) => Did::Next,
        1 => Did::Fails,
        2 => {
            world.write(me, Row::Member(new), true);
            world.write(me, Row::Claim(new), true);
            world.write(me, Row::Tally(me), true);
            Did::Next
        }
        _ => Did::Commits,
    }
}

fn close(world: &mut World, me: u8, at: u8, wrong: Option<Mistake>) -> Did {
    match at {
        // A look that holds the batch keeps it from being changed; who adds to it does not.
        0 => match world.lock(me, Row::Open) {
            None => Did::Waits,
            Some(false) => Did::Fails,
            Some(true) => {
                world.write(me, Row::Open, false);
                if wrong != Some(Mistake::CloseQuietly) {
                    world.write(me, Row::Tally(me), true);
                }
                Did::Next
            }
        },
        _ => Did::Commits,
    }
}

/// It has the callback locked, and fails: one that succeeds leaves nothing to do.
fn cancel(world: &mut World, me: u8, at: u8) -> Did {
    match (at, world.lock(me, Row::Callback)) {
        (0, None) => Did::Waits,
        (0, Some(_)) => Did::Next,
        _ => Did::Fails,
    }
}
