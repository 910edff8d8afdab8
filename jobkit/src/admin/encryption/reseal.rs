//! Resealing payloads with another key.

use std::collections::BTreeMap;
use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;

use super::statements::{self, Sealed};
use crate::admin::AdminError;
use crate::admin::{Admin, let_hands_change};
use crate::encryption::{Cipher, cipher, keys_in, resealed};
use crate::error::EncryptError;
use crate::limits::{self, NAME_BYTES};
use crate::store::Link;

/// How many payloads one statement looks at.
const PAGE: usize = 500;

/// The most passes over everything: a payload that is locked, or that moves meanwhile, is found in
/// the next pass.
const PASSES: u32 = 10;

/// The number of payloads with fields sealed with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedWith {
    /// The id of the key.
    pub key: String,
    /// Of live jobs.
    pub jobs: u64,
    /// Of dead letters.
    pub dead_letters: u64,
    /// Of schedules.
    pub schedules: u64,
}

/// The result of resealing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// The key that payloads are sealed with now.
    pub key: String,
    /// How many live jobs were resealed.
    pub jobs: u64,
    /// How many dead letters.
    pub dead_letters: u64,
    /// How many schedules.
    pub schedules: u64,
    /// How many are still sealed with other keys: this process lacks those keys, or the row stayed
    /// locked.
    pub left: u64,
    /// One of these, and why it could not be resealed.
    pub why: Option<String>,
}

/// Where payloads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Schedule,
    Job,
    DeadLetter,
}

/// Schedules first, then jobs, then dead letters: payloads move in this order.
const PLACES: [Place; 3] = [Place::Schedule, Place::Job, Place::DeadLetter];

impl Place {
    fn word(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Job => "job",
            Self::DeadLetter => "dead_letter",
        }
    }
}

/// Goes through one place.
struct Pages<'k> {
    place: Place,
    kind: Option<&'k str>,
    /// The last id or name that was seen; none: before the first.
    after: Option<String>,
    is_over: bool,
}

impl<'k> Pages<'k> {
    fn of(place: Place, kind: Option<&'k str>) -> Self {
        Self { place, kind, after: None, is_over: false }
    }

    /// The next page; none after the last.
    async fn next(&mut self, link: &mut Link) -> Result<Option<Vec<Sealed>>, AdminError> {
        if self.is_over {
            return Ok(None);
        }
        let Self { place, kind, ref after, .. } = *self;
        let id = after.as_ref().and_then(|after| after.parse().ok()).unwrap_or(i64::MIN);
        let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
        let page = match place {
            Place::Job => link.call(&statements::sealed_jobs(id, kind, limit)).await,
            Place::DeadLetter => link.call(&statements::sealed_dead_letters(id, kind, limit)).await,
            Place::Schedule => {
                let name = after.as_deref().unwrap_or_default();
                link.call(&statements::sealed_schedules(name, kind, limit)).await
            }
        }?;
        self.is_over = page.len() < PAGE;
        self.after = page.last().map(|last| last.id.clone());
        Ok(Some(page))
    }
}

type Doing<'a> = Pin<Box<dyn Future<Output = Result<Resealed, AdminError>> + Send + 'a>>;

/// A resealing of payloads, returned by [`Admin::reseal`].
#[must_use = "nothing is resealed until this is awaited"]
pub struct Reseal<'a> {
    admin: &'a Admin,
    kind: Option<String>,
    progress: Box<dyn FnMut(&Resealed) + Send + 'a>,
}

impl<'a> Reseal<'a> {
    /// Only payloads of this kind. If the kind has or had another name, reseal that as well.
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Calls this after each page of 500 in which something was resealed.
    pub fn progress(mut self, progress: impl FnMut(&Resealed) + Send + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    async fn run(mut self) -> Result<Resealed, AdminError> {
        let why =
            "this process has no keys; set them with `jobkit::policy::encryption::keys` first";
        let kind = self.kind.as_deref().unwrap_or("all");
        let none = || EncryptError { kind: kind.to_owned(), why: why.to_owned() };
        let cipher = cipher().ok_or_else(none)?;
        limits::name("kind", kind, NAME_BYTES)?;
        let mut link = self.admin.link();
        let mut done = Resealed { key: cipher.key(), ..Resealed::default() };
        for pass in 0..PASSES {
            let_hands_change(pass).await;
            (done.left, done.why) = (0, None);
            let mut refused = 0;
            for place in PLACES {
                refused += self.pass(&mut link, place, &*cipher, &mut done).await?;
            }
            // Nothing is left that another pass could do.
            if done.left == refused {
                break;
            }
        }
        link.close().await;
        Ok(done)
    }

    /// Goes through one place; returns how many cannot be resealed here at all.
    async fn pass(
        &mut self,
        link: &mut Link,
        place: Place,
        cipher: &dyn Cipher,
        done: &mut Resealed,
    ) -> Result<u64, AdminError> {
        let (kind, mut refused) = (self.kind.clone(), 0);
        let mut pages = Pages::of(place, kind.as_deref());
        while let Some(page) = pages.next(link).await? {
            let mut page_done = Vec::new();
            for Sealed { id, kind, args } in &page {
                let Some(args) = args else { continue };
                match resealed(kind, args, cipher) {
                    Ok(None) => {}
                    Ok(Some(json)) => page_done.push((id.as_str(), args.as_str(), json)),
                    Err(why) => {
                        refused += 1;
                        done.left += 1;
                        done.why = Some(format!("{} {id}: {why}", place.word()));
                    }
                }
            }
            if !page_done.is_empty() {
                let count = self.write(link, place, &done.key, &page_done).await?;
                let found = u64::try_from(page_done.len()).unwrap_or(u64::MAX);
                done.left += found.saturating_sub(count);
                *done.of(place) += count;
                (self.progress)(done);
            }
        }
        Ok(refused)
    }

    async fn write(
        &mut self,
        link: &mut Link,
        place: Place,
        key: &str,
        page: &[(&str, &str, String)],
    ) -> Result<u64, AdminError> {
        let ids: Vec<_> = page.iter().map(|(id, ..)| *id).collect();
        let before: Vec<_> = page.iter().map(|(_, before, _)| *before).collect();
        let after: Vec<_> = page.iter().map(|(.., after)| &**after).collect();
        let actor = self.admin.actor();
        let write = statements::reseal(place.word(), &ids, &before, &after, key, actor);
        Ok(link.call(&write).await.map(u64::from)?)
    }
}

/// A count for each place.
macro_rules! counts {
    ($($counted:ident)*) => {$(
        impl $counted {
            fn of(&mut self, place: Place) -> &mut u64 {
                match place {
                    Place::Schedule => &mut self.schedules,
                    Place::Job => &mut self.jobs,
                    Place::DeadLetter => &mut self.dead_letters,
                }
            }
        }
    )*};
}

counts! { Resealed SealedWith }

impl fmt::Debug for Reseal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reseal").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a> IntoFuture for Reseal<'a> {
    type Output = Result<Resealed, AdminError>;
    type IntoFuture = Doing<'a>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Admin {
    /// Counts the payloads of live jobs, dead letters and schedules with sealed fields, by the id
    /// of the key. A key that is not listed is no longer needed for them. It reads all payloads,
    /// 500 per statement, and needs no keys.
    ///
    /// The history is not counted: it never runs again, and it expires. Without its key it can no
    /// longer be read.
    pub async fn sealed(&self, kind: Option<&str>) -> Result<Vec<SealedWith>, AdminError> {
        let mut link = self.link();
        let mut keys = BTreeMap::new();
        for place in PLACES {
            let mut pages = Pages::of(place, kind);
            while let Some(page) = pages.next(&mut link).await? {
                for key in page.iter().filter_map(|one| one.args.as_deref()).flat_map(keys_in) {
                    let key = key.0;
                    let none =
                        SealedWith { key: key.clone(), jobs: 0, dead_letters: 0, schedules: 0 };
                    *keys.entry(key).or_insert(none).of(place) += 1;
                }
            }
        }
        link.close().await;
        Ok(keys.into_values().collect())
    }

    /// Reseals payloads of live jobs, dead letters and schedules that are sealed with a key other
    /// than the one this process seals with. Nothing happens until it is awaited.
    ///
    /// It goes through all of them page by page, while workers and producers work, and does not
    /// disturb running jobs. It may be called again at any time, including after an interruption:
    /// finished pages stay done, and each is recorded in the audit.
    ///
    /// ```no_run
    /// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::AdminError> {
    /// let resealed = admin.reseal().progress(|so_far| println!("{} jobs", so_far.jobs)).await?;
    /// assert_eq!(resealed.left, 0, "{:?}", resealed.why);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`AdminError::Encrypt`] if this process has no [keys](crate::policy::encryption::keys).
    pub fn reseal(&self) -> Reseal<'_> {
        Reseal { admin: self, kind: None, progress: Box::new(|_| {}) }
    }
}
