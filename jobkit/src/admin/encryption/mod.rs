//! Encrypted payloads: counting them by key, and resealing them.

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

/// This payload with the fields sealed that the kind encrypts, if this process has keys. (If they
/// stay open, the database refuses the payload.)
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
