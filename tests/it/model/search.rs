//! Every state within bounds, nearest first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;

use jobkit_tests::model::{Early, Invariant, Model, Outcome, State, Step};

use super::code::{Code, code};

/// How often may happen what could happen forever, or by chance; and which outcomes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) crashes: u8,
    pub(crate) stops: u8,
    pub(crate) starts: u8,
    pub(crate) limits: u8,
    pub(crate) pauses: u8,
    pub(crate) cancels: u8,
}

/// What a search begins with.
pub(crate) struct Search {
    pub(crate) model: Model,
    pub(crate) start: State,
    pub(crate) bounds: Bounds,
    pub(crate) outcomes: &'static [Outcome],
}

/// A broken invariant, and the shortest way there.
pub(crate) struct Counterexample {
    pub(crate) invariant: Invariant,
    pub(crate) steps: Vec<Step>,
}

struct Node {
    state: State,
    left: Bounds,
    from: usize,
    step: Option<Step>,
}

/// What was met so far. A node's number is its place in the order of discovery.
#[derive(Default)]
struct Met {
    nodes: Vec<Node>,
    numbers: HashMap<(Code, Option<Early>, Bounds), usize>,
    /// The nodes from which a node is reached when nobody interferes and nothing fails.
    before: Vec<Vec<usize>>,
}

impl Bounds {
    /// What is left after a step; `None` when the step is not within the bounds.
    fn after(mut self, step: &Step) -> Option<Self> {
        let bound = match step {
            Step::Crash { .. } => &mut self.crashes,
            Step::Stop { .. } => &mut self.stops,
            Step::Start { .. } => &mut self.starts,
            Step::SetLimit { .. } => &mut self.limits,
            Step::Pause { .. } => &mut self.pauses,
            Step::Cancel { .. } => &mut self.cancels,
            _ => return Some(self),
        };
        *bound = bound.checked_sub(1)?;
        Some(self)
    }
}

impl Met {
    /// The number of a node, which is a new one unless its like was met before.
    fn number(&mut self, model: &Model, node: Node) -> usize {
        let key = (code(model, &node.state), node.state.early.clone(), node.left);
        match self.numbers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                new.insert(self.nodes.len());
                self.nodes.push(node);
                self.before.push(Vec::new());
                self.nodes.len() - 1
            }
        }
    }

    fn counterexample(&self, mut at: usize, invariant: Invariant) -> Counterexample {
        let mut steps = Vec::new();
        while let Some(step) = &self.nodes[at].step {
            steps.push(step.clone());
            at = self.nodes[at].from;
        }
        steps.reverse();
        Counterexample { invariant, steps }
    }

    /// The first node from which nothing leads to rest.
    fn endless(&self, model: &Model) -> Option<usize> {
        let mut ends: Vec<bool> =
            self.nodes.iter().map(|node| model.at_rest(&node.state)).collect();
        let mut open: Vec<usize> = (0..ends.len()).filter(|at| ends[*at]).collect();
        while let Some(at) = open.pop() {
            for from in &self.before[at] {
                if !std::mem::replace(&mut ends[*from], true) {
                    open.push(*from);
                }
            }
        }
        // With a limit of 0 nothing runs.
        (0..ends.len()).find(|at| !ends[*at] && self.nodes[*at].state.limit > 0)
    }
}

impl Search {
    /// The number of states, or what is broken.
    pub(crate) fn run(&self) -> Result<usize, Counterexample> {
        let mut met = Met::default();
        let start = self.start.clone();
        met.number(&self.model, Node { state: start, left: self.bounds, from: 0, step: None });
        let mut at = 0;
        while at < met.nodes.len() {
            self.expand(&mut met, at)?;
            at += 1;
        }
        match met.endless(&self.model) {
            Some(at) => Err(met.counterexample(at, Invariant::Ends)),
            None => Ok(met.nodes.len()),
        }
    }

    /// Makes all steps from a node.
    fn expand(&self, met: &mut Met, at: usize) -> Result<(), Counterexample> {
        let before = met.nodes[at].state.clone();
        for step in self.model.steps(&before) {
            let Some(left) = met.nodes[at].left.after(&step) else { continue };
            if matches!(&step, Step::Settle { outcome, .. } if !self.outcomes.contains(outcome)) {
                continue;
            }
            let mut state = before.clone();
            self.model.apply(&mut state, &step);
            if state == before {
                continue;
            }
            let broken = self.model.broken(&before, &step, &state);
            let goes_on = self.model.goes_on(&before, &step);
            let to =
                met.number(&self.model, Node { state, left, from: at, step: Some(step.clone()) });
            if let Some(invariant) = broken {
                let mut example = met.counterexample(at, invariant);
                example.steps.push(step);
                return Err(example);
            }
            if goes_on {
                met.before[to].push(at);
            }
        }
        Ok(())
    }

    /// The steps of a counterexample, each with what the tables say after it.
    pub(crate) fn tell(&self, example: &Counterexample) -> String {
        let mut state = self.start.clone();
        let mut text = format!("{:?} after\n    {state}\n", example.invariant);
        for step in &example.steps {
            self.model.apply(&mut state, step);
            writeln!(text, "  {step:?}\n    {state}").unwrap();
        }
        text
    }
}
