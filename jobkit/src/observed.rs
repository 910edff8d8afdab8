//! What an operator sees of the whole: numbers that are bounded, whatever there is.

pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod histogram;
pub(crate) mod kind;
pub(crate) mod measure;
pub(crate) mod overview;
pub(crate) mod queue;
pub(crate) mod stuck;
pub(crate) mod worker;
