//! What a spec wants, and what isolationtester printed of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A file of `tests/isolation`.
pub(super) struct Spec {
    name: String,
    text: String,
}

impl Spec {
    pub(super) fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("isolation")
    }

    pub(super) fn read(name: &str) -> Self {
        let path = Self::folder().join(name).with_extension("spec");
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { name: name.to_owned(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The orderings it lists.
    fn orderings(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("permutation ")).collect()
    }

    /// Steps that have to be seen waiting, "# waits: …", or the race was not run.
    fn waits(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("# waits: "));
        lines.flat_map(|line| line.split(' '))
    }
}

/// What isolationtester printed.
pub(super) struct Report {
    success: bool,
    printed: String,
    errors: String,
}

/// One ordering of the steps, and what came of it.
struct Run<'a> {
    ordering: &'a str,
    lines: Vec<&'a str>,
}

impl Report {
    pub(super) fn new(output: &Output) -> Self {
        Self {
            success: output.status.success(),
            printed: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.printed.split("\nstarting permutation: ").skip(1).map(|run| {
            let mut lines = run.lines();
            Run { ordering: lines.next().unwrap_or_default(), lines: lines.collect() }
        })
    }

    /// What is wrong, as lines that name the spec and the ordering; none when all is well.
    pub(super) fn complaints(&self, spec: &Spec) -> Vec<String> {
        let mut found = Vec::new();
        if !self.success || !self.errors.is_empty() {
            found.push(format!("{}: isolationtester: {}", spec.name, self.errors.trim()));
        }
        let ran: Vec<&str> = self.runs().map(|run| run.ordering).collect();
        let listed = spec.orderings();
        if ran.is_empty() || !listed.is_empty() && ran != listed {
            let same = ran.iter().zip(&listed).filter(|(ran, listed)| ran == listed).count();
            let counts = format!("{same} of {} orderings ran as listed", listed.len());
            found.push(format!("{}: {counts}", spec.name));
        }
        for run in self.runs() {
            let complaints = run.complaints().into_iter();
            found.extend(complaints.map(|what| format!("{}: {}: {what}", spec.name, run.ordering)));
        }
        found
    }

    /// Steps that should have been seen waiting and were not.
    pub(super) fn unwaited<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        let waited = |step: &str| self.runs().any(|run| run.has_waited(step));
        spec.waits().filter(|step| !waited(step)).collect()
    }
}

impl Run<'_> {
    fn complaints(&self) -> Vec<String> {
        let wrong = |line: &&&str| {
            ["ERROR:", "FATAL:", "PANIC:", "WARNING:", "isolationtester:"]
                .iter()
                .any(|word| line.contains(word))
        };
        let mut found: Vec<String> =
            self.lines.iter().filter(wrong).map(|line| line.trim().to_owned()).collect();
        let verdicts: Vec<&str> =
            self.lines.iter().filter_map(|line| line.split_once("verdict: ")).map(last).collect();
        if verdicts != ["well"] {
            found.push(format!("the verdict is {verdicts:?}"));
        }
        found
    }

    fn has_waited(&self, step: &str) -> bool {
        let begin = format!("step {step}: ");
        self.lines.iter().any(|line| line.starts_with(&begin) && line.ends_with("<waiting ...>"))
    }
}

fn last<'a>((_, verdict): (&str, &'a str)) -> &'a str {
    verdict.trim()
}

#[cfg(test)]
mod tests {
    use super::{Report, Spec};

    const WELL: &str = "a b A\nstep a: x\nstep b: y <waiting ...>\nstep A: commit;\n\
        step b: <... completed>\nverdict      \n-------------\nverdict: well\n(1 row)\n";

    fn spec() -> Spec {
        Spec { name: "spec".to_owned(), text: "# waits: b\npermutation a b A\n".to_owned() }
    }

    fn report(find: &str, replace: &str) -> Report {
        let run = WELL.replace(find, replace);
        let printed = format!("Parsed test spec with 2 sessions\n\nstarting permutation: {run}");
        Report { success: true, printed, errors: String::new() }
    }

    #[test]
    fn a_report_is_understood() {
        let complaints = |find, replace| report(find, replace).complaints(&spec());
        assert_eq!(complaints("", ""), [""; 0]);
        let found = ["spec: a b A: ERROR:  no", "spec: a b A: the verdict is []"];
        assert_eq!(complaints("verdict: well", "ERROR:  no"), found);
        let found = ["spec: a b A: the verdict is [\"job 1 never ran\"]"];
        assert_eq!(complaints("verdict: well", "verdict: job 1 never ran "), found);
        assert_eq!(complaints("a b A\n", "a A b\n"), ["spec: 0 of 1 orderings ran as listed"]);
        assert_eq!(report("", "").unwaited(&spec()), [""; 0]);
        assert_eq!(report(" <waiting ...>", "").unwaited(&spec()), ["b"]);
    }
}
