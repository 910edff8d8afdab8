use std::any::{TypeId, type_name};

use crate::JobType;

/// A job type, or up to twelve in parentheses, for [`Worker::only`](crate::Worker::only).
///
/// It is implemented for all of these and for nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a job type nor a list of job types",
    label = "neither a struct with `#[jobkit::job]` nor up to twelve of them in parentheses",
    note = "list more than twelve with `Worker::jobs`"
)]
pub trait JobTypes {
    /// Their ids and Rust paths.
    #[doc(hidden)]
    fn list() -> Vec<(TypeId, &'static str)>;
}

impl<J: JobType + 'static> JobTypes for J {
    fn list() -> Vec<(TypeId, &'static str)> {
        vec![(TypeId::of::<J>(), type_name::<J>())]
    }
}

macro_rules! lists {
    ($first:ident $($rest:ident)*) => {
        impl<$first: JobType + 'static, $($rest: JobType + 'static),*> JobTypes
            for ($first, $($rest,)*)
        {
            fn list() -> Vec<(TypeId, &'static str)> {
                [$first::list(), $($rest::list()),*].concat()
            }
        }
        lists! { $($rest)* }
    };
    () => {};
}

lists! { A B C D E F G H I J K L }
