//! What an operator may see and do, in every state a job can be in.

mod jobs;
mod kit;
