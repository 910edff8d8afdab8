//! Payloads that lie encrypted: which keys they are sealed with, and other keys for them.

use serde_json::Value;

use crate::admin::AdminError;
use crate::encryption::{self, Reading};
use crate::error::EncryptError;
use crate::store::Link;

#[cfg(feature = "encrypt")]
mod reseal;
mod statements;

#[cfg(feature = "encrypt")]
pub use self::reseal::{Reseal, Resealed, SealedWith};

/// This payload as the kind has it stored, as far as this process has keys: with what the kind
/// encrypts sealed. (Where it lies open all the same, the database refuses it.)
pub(in crate::admin) async fn sealed(
    link: &mut Link,
    kind: &str,
    args: &Value,
) -> Result<Option<Value>, AdminError> {
    if !encryption::has_keys() {
        return Ok(None);
    }
    let paths = link.call(&statements::encrypted_paths(kind)).await?.unwrap_or_default();
    let refused = |why| EncryptError { kind: kind.to_owned(), why };
    let sealed = encryption::sealed(kind, &paths, &args.to_string(), Reading::Stored);
    let Some(json) = sealed.map_err(refused)? else { return Ok(None) };
    Ok(Some(serde_json::from_str(&json).map_err(|error| refused(error.to_string()))?))
}
