//! The name of an error's type, by which failures are grouped.

use std::any::type_name;
use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write};

use crate::limits::TYPE_BYTES;

/// A boxed error, whatever it was.
pub(crate) type AnyError = Box<dyn Error + Send + Sync>;

/// The name of an error's type, or what its root cause calls itself.
pub(crate) type ErrorType = Cow<'static, str>;

/// Types that hold any error: their names say nothing.
const HOLDERS: [&str; 2] = ["anyhow::Error", "eyre::Report"];

/// The longest word taken for what an error calls itself.
const WORD_BYTES: usize = 64;

/// The name of `E`, cut; for a type that holds any error, what its root cause calls itself. A plain
/// text has neither.
pub(crate) fn error_type<E>(error: &(dyn Error + 'static)) -> Option<ErrorType> {
    let name = type_name::<E>();
    if HOLDERS.contains(&name) || name == type_name::<AnyError>() {
        return own_word(root(error)).map(Cow::Owned);
    }
    let texts = [type_name::<&str>(), type_name::<String>(), type_name::<Cow<'_, str>>()];
    let end = name.floor_char_boundary(TYPE_BYTES);
    (!texts.contains(&name)).then_some(Cow::Borrowed(&name[..end]))
}

fn root<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(cause) = error.source() {
        error = cause;
    }
    error
}

/// The word before the fields in derived `Debug` output: the name of a struct or a variant. Nothing
/// else tells the type of a boxed error.
fn own_word(error: &(dyn Error + 'static)) -> Option<String> {
    let mut head = Head(String::new());
    // The alternate form: the other one of anyhow is made for people. It may be cut.
    let _cut = write!(head, "{error:#?}");
    let end = head.0.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(head.0.len());
    let (word, rest) = head.0.split_at(end);
    let is_derived = rest.is_empty() || rest.starts_with('(') || rest.starts_with(" {");
    let is_name = word.starts_with(char::is_uppercase) && word != "Error";
    (is_derived && is_name).then(|| word.to_owned())
}

/// The beginning of a text, as far as it is wanted.
struct Head(String);

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = text.floor_char_boundary(WORD_BYTES - self.0.len());
        self.0.push_str(&text[..room]);
        if room < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;
    use crate::JobError;

    #[derive(Debug, thiserror::Error)]
    enum Refusal {
        #[error("no such card")]
        NoCard,
        #[error("declined")]
        Declined(#[allow(dead_code, reason = "it is shown")] Vec<u64>),
        #[error("disk {disk} is full")]
        Full { disk: u32 },
    }

    #[derive(thiserror::Error)]
    #[error("said")]
    struct Says(&'static str);

    impl fmt::Debug for Says {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    fn recorded(error: impl Into<AnyError>) -> Option<String> {
        JobError::from(error).error_type.map(Cow::into_owned)
    }

    #[test]
    fn an_error_that_holds_any_is_called_by_its_root_cause() {
        let any = |error: Refusal| anyhow::Error::from(error);
        assert_eq!(recorded(any(Refusal::NoCard)).as_deref(), Some("NoCard"));
        assert_eq!(recorded(any(Refusal::Declined(vec![7; 40]))).as_deref(), Some("Declined"));
        let full: Result<(), _> = Err(Refusal::Full { disk: 7 });
        let wrapped = full.context("writing").context("backing up").expect_err("it is one");
        assert_eq!(recorded(wrapped).as_deref(), Some("Full"));
        let boxed: AnyError = Box::new(Refusal::NoCard);
        assert_eq!(recorded(boxed).as_deref(), Some("NoCard"));
    }

    #[test]
    fn what_is_no_name_calls_it_nothing() {
        assert_eq!(recorded(anyhow::anyhow!("Card 7 is gone")), None);
        assert_eq!(recorded(anyhow::anyhow!("a").context("b")), None);
        let boxed: AnyError = "text".into();
        assert_eq!(recorded(boxed), None);
        for said in ["", "Error(7)", "no name", "Card 7", "Card: 7", "7"] {
            assert_eq!(recorded(anyhow::Error::from(Says(said))), None, "{said}");
        }
    }
}
