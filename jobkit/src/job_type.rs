use std::collections::VecDeque;
use std::fmt::Display;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::policy::Policy;
use crate::stored::Stored;

/// The half of a job that `#[job]` writes: its policy and its keys.
///
/// Do not implement it by hand; behaviour goes into [`Job`](crate::Job).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as a job",
    label = "missing `#[jobkit::job]`",
    note = "add `#[jobkit::job]` above the definition of `{Self}`"
)]
pub trait JobType: Sized {
    /// The result that the job returns and its history keeps: `()` (nothing is kept) unless set
    /// with `#[job(result = …)]`.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// The policy of jobs of this type.
    const POLICY: Policy;

    /// The concurrency key of this job; `None` if it is not limited.
    fn concurrency_key(&self) -> Option<String> {
        None
    }

    /// The dead-letter key of this job: jobs of one kind and key share one dead letter. `None` if
    /// it gets one of its own.
    fn dead_letter_key(&self) -> Option<String> {
        None
    }

    /// The unique key of this job; `None` if it is not unique.
    fn unique_key(&self) -> Option<String> {
        None
    }

    /// The key by which this job coalesces; `None` if it does not.
    fn coalesce_key(&self) -> Option<String> {
        None
    }

    /// When such a job recurs, and the job: what `#[job(schedule = "…")]` says.
    #[doc(hidden)]
    fn scheduled() -> Option<(&'static str, Self)> {
        None
    }

    /// Compiles only if the nested fields that `#[job]` names exist. It is never called.
    #[doc(hidden)]
    fn hidden(&self) {}

    /// Creates the job from a payload of an earlier version, one of [`Policy::upcasts`].
    ///
    /// # Errors
    /// What is wrong with the payload.
    #[doc(hidden)]
    fn upcast(stored: Stored<'_>) -> Result<Self, String> {
        Err(stored.unknown())
    }
}

/// What a function behind `upcast` may return: the job, or a `Result` of it.
///
/// `M` is filled in by inference; it keeps the two implementations apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the job that this `upcast` is for",
    label = "returns neither the job nor a `Result` of it",
    note = "write `fn(Old) -> Self` or `fn(Old) -> Result<Self, E>`, where `Old` is a struct with \
            the fields of that version"
)]
pub trait IntoJob<J, M> {
    /// The job, or the error.
    fn into_job(self) -> Result<J, String>;
}

impl<J> IntoJob<J, Always> for J {
    fn into_job(self) -> Result<J, String> {
        Ok(self)
    }
}

impl<J, E: Display> IntoJob<J, Maybe> for Result<J, E> {
    fn into_job(self) -> Result<J, String> {
        self.map_err(|error| error.to_string())
    }
}

impl Stored<'_> {
    /// Decodes the job. The error says why that fails, with the path inside the payload.
    pub(crate) fn job<J: JobType + DeserializeOwned>(self) -> Result<J, String> {
        if self.is_current() { self.decode() } else { J::upcast(self) }
    }
}

/// Reads a payload of an earlier version by its own type; the expansion of `#[job]` calls it.
pub fn upcast<Old, New, J, M>(stored: Stored<'_>, function: fn(Old) -> New) -> Result<J, String>
where
    Old: DeserializeOwned,
    New: IntoJob<J, M>,
{
    let old = stored.decode()?;
    function(old).into_job().map_err(|error| stored.refused(&error))
}

/// A job that `#[job(schedule = "…")]` can make: its fields have defaults.
#[diagnostic::on_unimplemented(
    message = "a schedule in `#[job]` creates the job with `Default`, which `{Self}` does not \
               implement",
    label = "no `Default` for `{Self}`",
    note = "derive `Default`, or pass the schedule and its payload to `Worker::schedule`"
)]
pub trait Scheduled {
    /// The job.
    fn scheduled() -> Self;
}

impl<J: Default> Scheduled for J {
    fn scheduled() -> Self {
        Self::default()
    }
}

/// Makes a job that recurs; the expansion of `#[job]` calls it.
#[must_use]
pub fn scheduled<J: Scheduled>() -> J {
    J::scheduled()
}

/// A field on the way to one that is hidden.
#[derive(Debug)]
pub struct Way<'a, T: ?Sized>(pub &'a T);

/// What is inside options, lists and boxes, so that the compiler can check its fields. The
/// expansion of `#[job]` names it; it is never called.
pub trait Through<'a> {
    /// What is inside.
    type To: ?Sized + 'a;

    /// Goes inside.
    fn through(&self) -> &'a Self::To;
}

macro_rules! through {
    ($($list:ty),*) => { $(
        impl<'a, T: 'a> Through<'a> for Way<'a, $list> {
            type To = T;

            fn through(&self) -> &'a T {
                unreachable!("it is only for the compiler")
            }
        }
    )* };
}

through!(Option<T>, Box<T>, Rc<T>, Arc<T>, Vec<T>, VecDeque<T>, [T]);

impl<'a, T: 'a, const N: usize> Through<'a> for Way<'a, [T; N]> {
    type To = T;

    fn through(&self) -> &'a T {
        unreachable!("it is only for the compiler")
    }
}

/// Everything else has its fields itself. A method of [`Through`] comes first.
pub trait Itself<'a> {
    /// The same.
    type To: ?Sized + 'a;

    /// Stays where it is.
    fn through(&self) -> &'a Self::To;
}

impl<'a, T: ?Sized> Itself<'a> for &Way<'a, T> {
    type To = T;

    fn through(&self) -> &'a T {
        self.0
    }
}

/// Marks a key that is always there (see [`IntoKey`]).
#[derive(Debug)]
pub enum Always {}

/// Marks a key that may be absent (see [`IntoKey`]).
#[derive(Debug)]
pub enum Maybe {}

/// What may stand after `concurrency_key =` and `dead_letter_key =`: anything that displays, or an
/// `Option` of it.
///
/// `M` is filled in by inference; it keeps the two implementations apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "neither implements `Display` nor is an `Option` of something that does",
    note = "a key is stored as text: use a value that implements `Display`, or an `Option` of one"
)]
pub trait IntoKey<M> {
    /// The key as text.
    fn to_key(&self) -> Option<String>;
}

impl<T: Display + ?Sized> IntoKey<Always> for T {
    fn to_key(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl<T: Display> IntoKey<Maybe> for Option<T> {
    fn to_key(&self) -> Option<String> {
        self.as_ref().map(ToString::to_string)
    }
}

/// Whether keys of some type are always there.
pub trait Presence {
    /// Whether one may be absent.
    const OPTIONAL: bool;
}

impl Presence for Always {
    const OPTIONAL: bool = false;
}

impl Presence for Maybe {
    const OPTIONAL: bool = true;
}

/// A key as text, which tells by its type whether it may be absent.
#[derive(Debug)]
pub struct Key<P>(Option<String>, PhantomData<P>);

impl<P> Key<P> {
    /// The text.
    pub fn into_text(self) -> Option<String> {
        self.0
    }
}

/// Turns the expression of a concurrency key into text; the expansion of `#[job]` calls it.
pub fn key_or_none<M, K: IntoKey<M> + ?Sized>(key: &K) -> Key<M> {
    Key(key.to_key(), PhantomData)
}

/// Whether the key that this method makes may be absent.
#[must_use]
pub const fn optional_key<J: 'static, P: Presence>(_: fn(&'static J) -> Key<P>) -> bool {
    P::OPTIONAL
}

/// Turns a key expression into text; the expansion of `#[job]` calls it.
pub fn key<M, K: IntoKey<M> + ?Sized>(key: &K) -> Option<String> {
    key.to_key()
}
