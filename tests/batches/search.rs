use std::collections::HashMap;

use super::program::{Mistake, Now, Program, Session};
use super::world::{Row, World};

/// What may not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The batch has ended, and a member has not.
    EndedEarly,
    /// The callback became ready twice, or although it waits.
    CalledTwice,
    /// Nothing moves any more, and the batch has not ended although all of its members have, or its
    /// callback waits although it has.
    Stuck,
}

/// What a search came to.
#[derive(Debug)]
pub struct Found {
    /// How many states there are.
    pub states: usize,
    /// What is broken in any, with the programs in the order of their statements; the number of one
    /// that died stands alone.
    pub broken: Option<(Broken, Vec<usize>)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    world: World,
    sessions: Vec<Session>,
    /// How many programs may still die.
    deaths: u8,
    /// How often the callback has become ready.
    calls: u8,
}

/// Tries every order of the statements of these programs, of which so many may die, each before any
/// of its statements. A duty that died is started again.
pub fn search(world: &World, programs: &[Program], deaths: u8, mistake: Option<Mistake>) -> Found {
    let sessions = programs.iter().copied().map(Session::new).collect();
    let mut states = vec![(State { world: world.clone(), sessions, deaths, calls: 0 }, None)];
    let mut known = HashMap::from([(states[0].0.clone(), 0)]);
    let mut at = 0;
    while at < states.len() {
        let state = states[at].0.clone();
        let after = successors(&state, mistake);
        let broken = state.broken(after.is_empty());
        if broken.is_some() {
            let found = broken.map(|broken| (broken, way(&states, at)));
            return Found { states: states.len(), broken: found };
        }
        for (program, next) in after {
            if !known.contains_key(&next) {
                known.insert(next.clone(), states.len());
                states.push((next, Some((at, program))));
            }
        }
        at += 1;
    }
    Found { states: states.len(), broken: None }
}

fn way(states: &[(State, Option<(usize, usize)>)], mut at: usize) -> Vec<usize> {
    let mut way = Vec::new();
    while let Some((before, program)) = states[at].1 {
        way.push(program);
        at = before;
    }
    way.reverse();
    way
}

fn successors(state: &State, mistake: Option<Mistake>) -> Vec<(usize, State)> {
    let mut found = Vec::new();
    for at in 0..state.sessions.len() {
        let me = u8::try_from(at).expect("there are few programs");
        let mut next = state.clone();
        if next.sessions[at].step(me, &mut next.world, mistake) {
            let was_ready = state.world.has(Row::Ready);
            let is_called = next.world.has(Row::Ready) && (!was_ready || state.called(at, &next));
            next.calls += u8::from(is_called);
            found.push((at, next));
        }
        if state.deaths > 0 && state.sessions[at].now != Now::Ended {
            let mut dead = state.clone();
            dead.deaths -= 1;
            dead.world.end(me, false);
            let program = dead.sessions[at].program;
            dead.sessions[at] = Session::new(program);
            if program != Program::Look {
                dead.sessions[at].now = Now::Ended;
            }
            if dead != *state {
                found.push((at, dead));
            }
        }
    }
    found
}

impl State {
    /// Whether this step made the callback ready once more: a look that had deleted the batch
    /// committed.
    fn called(&self, at: usize, next: &Self) -> bool {
        let session = &self.sessions[at];
        session.program == Program::Look
            && matches!(session.now, Now::At(4..))
            && next.sessions[at].now == Now::At(0)
    }

    fn broken(&self, rests: bool) -> Option<Broken> {
        let world = &self.world;
        let is_open = Row::members().chain([Row::Open]).any(|row| world.has(row));
        let runs = Row::claims().any(|row| world.has(row));
        if !world.has(Row::Batch) && (is_open || runs) {
            return Some(Broken::EndedEarly);
        }
        if self.calls > 1 || (world.has(Row::Ready) && world.has(Row::Callback)) {
            return Some(Broken::CalledTwice);
        }
        let is_called = world.has(Row::Ready);
        (rests && !is_open && !is_called).then_some(Broken::Stuck)
    }
}
