use std::any::type_name;
use std::borrow::Cow;

use super::*;
use crate::error::{InvalidValue, QueueFull};
use crate::limits::TYPE_BYTES;

#[derive(Debug, thiserror::Error)]
#[error("no such card")]
struct NoCard;

#[derive(Debug, thiserror::Error)]
#[error("{0:?}")]
struct Several<E: fmt::Debug>(E);

#[test]
fn an_error_keeps_the_name_of_its_type() {
    let name = type_name::<NoCard>();
    assert!(name.ends_with("::NoCard"), "{name}");
    for error in [
        JobError::from(NoCard),
        JobError::retry_in(Duration::ZERO, NoCard),
        JobError::wait(Duration::ZERO, NoCard),
        JobError::discard(NoCard),
        JobError::dead(NoCard),
    ] {
        assert_eq!(error.error_type.as_deref(), Some(name), "{error:?}");
    }
}

#[test]
fn a_snooze_for_ever_is_a_failure() {
    let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    assert_eq!(JobError::snooze(century).verdict, Verdict::Snooze(century));
    for wait in [century * 100, Duration::from_secs(u64::MAX / 1_000), Duration::MAX] {
        let error = JobError::snooze(wait);
        assert_eq!(error.verdict, Verdict::Retry);
        let error = error.error.downcast_ref::<InvalidValue>();
        assert!(matches!(error, Some(InvalidValue::Range { .. })), "{error:?}");
    }
}

#[test]
fn texts_have_no_type_that_tells_anything() {
    for error in [
        JobError::from("a"),
        JobError::from("a".to_owned()),
        JobError::from(Cow::Borrowed("a")),
        JobError::dead("a"),
        JobError::snooze(Duration::ZERO),
    ] {
        assert_eq!(error.error_type, None, "{error:?}");
    }
}

#[test]
fn what_is_to_come_is_no_failure_however_it_is_wrapped() {
    #[derive(Debug, thiserror::Error)]
    #[error("no follow-up")]
    struct Wrapped<E: Error + 'static>(#[source] E);
    let full = || EnqueueError::from(QueueFull { queue: "mail".into(), waiting: 5, limit: 5 });
    let later = || Denied::Later(Duration::from_secs(1));
    let snooze = Verdict::Snooze(Duration::from_secs(1));
    assert_eq!(JobError::from(full()).verdict, Verdict::Wait(FULL));
    assert_eq!(JobError::from(Wrapped(Wrapped(full()))).verdict, Verdict::Wait(FULL));
    assert_eq!(JobError::from(later()).verdict, snooze);
    assert_eq!(JobError::from(Wrapped(later())).verdict, snooze);
    assert_eq!(JobError::from(Wrapped(NoCard)).verdict, Verdict::Retry);
}

#[test]
fn a_long_name_is_cut() {
    let all = || (NoCard, NoCard, NoCard, NoCard, NoCard);
    let error = JobError::from(Several((all(), all(), all())));
    assert_eq!(error.error_type.as_deref().map(str::len), Some(TYPE_BYTES), "{error:?}");
}
