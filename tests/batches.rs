//! A model of batches: sets of jobs whose callback runs once all of them have ended.
//!
//! Here a step is one *statement*, not one transaction as in [`model`](crate::model), since what
//! could go wrong lies between statements: [`World`] has rows as READ COMMITTED sees them, with
//! what is not committed and who holds locks. A [`Program`] is a transaction as jobkit sends it,
//! and may die before each of its statements. [`search`] tries every order of several programs.
//!
//! A member is a row that whoever ends it deletes; it adds a tally as well. A duty takes tallies,
//! locks the batch, and looks for members: an empty batch stays empty, so it may look later, and
//! alone. Who adds members has the batch locked in a weaker way until the commit, and a look passes
//! over a batch that somebody has locked.

mod program;
mod search;
mod world;

pub use program::{Mistake, Program};
pub use search::{Broken, Found, search};
pub use world::{Row, World};
