//! A model of batches: sets of jobs whose callback runs once all of them have ended.
//!
//! Here a step is one *statement*, not one transaction as in [`model`](crate::model), since what
//! could go wrong lies between statements: [`World`] has rows as READ COMMITTED sees them, with
//! what is not committed and who holds locks. A [`Program`] is a transaction as jobkit sends it,
//! and may die before each of its statements. [`search`] tries every order of several programs.
//!
//! A batch has a row for each open member, and one more while it may be filled, the hold. Whoever
//! ends a member deletes its row and adds a tally. A duty takes tallies, and looks for members: an
//! empty batch stays empty, so it may look later, and alone. Who adds members holds a row that
//! keeps the batch from being empty until the commit.

mod program;
mod search;
mod world;

pub use program::{Mistake, Program};
pub use search::{Broken, Found, search};
pub use world::{Row, World};
