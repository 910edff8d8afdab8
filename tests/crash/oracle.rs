//! Whether two runs of one job ever overlapped while the claims of both were valid, and for how
//! long code went on whose claim was lost. The runs are those of the processes' diaries; which
//! worker held which job, and when, is recorded by triggers beside the tables of jobkit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jobkit_tests::Lab;

/// How long a process that was frozen may go on, while it is not, with a run whose claim is lost:
/// its heart looks every 50 ms, on a machine that is busy. Runs last up to 3 s.
const AWAKE: f64 = 1.0;
/// … and one that was not: it has stopped the run before its lease ends. So no living worker may
/// lose a claim, either: it would know with its next beat only.
const SPOTLESS: f64 = 0.1;
/// Whether it was frozen counts from so long before the claim was lost: as long as a lease lasts.
const LEASE: f64 = 2.5;

/// Records who holds which job, as the transactions that commit have it.
pub(crate) const RECORD: &str = "
    create table holds (
        id bigint generated always as identity primary key,
        job_id bigint not null, worker_id bigint not null, n bigint not null,
        held boolean not null, at timestamptz not null default clock_timestamp());
    create table names (worker_id bigint primary key, name text not null);
    create function hold() returns trigger language plpgsql as $$ begin
        if tg_op <> 'INSERT' then
            insert into public.holds (job_id, worker_id, n, held)
            select l.id, old.worker_id, old.n, false from unnest(old.job_ids) as l (id)
            where tg_op = 'DELETE' or l.id <> all (new.job_ids);
        end if;
        if tg_op <> 'DELETE' then
            insert into public.holds (job_id, worker_id, n, held)
            select l.id, new.worker_id, new.n, true from unnest(new.job_ids) as l (id)
            where tg_op = 'INSERT' or l.id <> all (old.job_ids);
        end if;
        return null;
    end $$;
    create trigger hold after insert or update or delete on jobkit.claims
        for each row execute function hold();
    create function name() returns trigger language plpgsql as $$ begin
        insert into public.names (worker_id, name) values (new.id, new.name);
        return null;
    end $$;
    create trigger name after insert on jobkit.workers for each row execute function name()";

/// Each time that a worker held a job, and its process, which a worker's name ends with.
const HOLDS: &str = "
    select h.job_id, split_part(w.name, ':', -1)::bigint, extract(epoch from h.at)::float8,
        coalesce(extract(epoch from h.until), 'infinity')::float8
    from (
        select h.*, lead(h.at) over each_one as until, lead(h.held) over each_one as again
        from holds h window each_one as (partition by h.job_id, h.worker_id, h.n order by h.id)
    ) h
    join names w using (worker_id)
    where h.held and h.again is not true
    order by h.job_id, h.at";

/// A folder for the diaries of a test's processes, removed with this.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("jobkit-runs-{:016x}", fastrand::u64(..)));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails leaves them, to be looked at.
        if !std::thread::panicking() {
            let _gone = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A time in seconds since 1970, from and to.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    from: f64,
    to: f64,
}

impl Span {
    /// For how long both last at once.
    fn shared(self, other: Self) -> f64 {
        (self.to.min(other.to) - self.from.max(other.from)).max(0.0)
    }
}

/// What a process did with a job, or a worker of it: a run, or a claim.
#[derive(Debug, Clone, Copy)]
struct Deal {
    job: i64,
    process: i64,
    span: Span,
}

/// What is known of all processes.
#[derive(Debug, Default)]
struct Record {
    runs: Vec<Deal>,
    holds: Vec<Deal>,
    frozen: HashMap<i64, Vec<Span>>,
}

/// What a record shows.
#[derive(Debug, Default)]
struct Verdict {
    /// What must not be.
    wrong: Vec<String>,
    /// Pairs of runs of a job that overlapped, one of them without a claim, and the longest.
    overlaps: u32,
    longest: f64,
    /// The longest that a process went on, frozen or not, and awake, with a run without a claim.
    late: f64,
    awake: f64,
    /// … and one that was not frozen lately.
    spotless: f64,
}

impl Record {
    /// Reads the diary of a process. What has no end there ended with the process.
    fn read(&mut self, process: i64, diary: &str) {
        let (mut open, mut frozen, mut dead) = (HashMap::new(), None, f64::INFINITY);
        let mut frosts = Vec::new();
        for line in diary.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let words: Vec<&str> = line.split(' ').collect();
            let at: f64 = words[0].parse().unwrap();
            match words[1..] {
                ["begin", run, job] => {
                    open.insert(run.to_owned(), (job.parse::<i64>().unwrap(), at));
                }
                ["end", run] => {
                    let (job, from) = open.remove(run).unwrap();
                    self.runs.push(Deal { job, process, span: Span { from, to: at } });
                }
                ["freeze"] => frozen = Some(at),
                ["thaw"] => frosts.extend(frozen.take().map(|from| Span { from, to: at })),
                ["dead"] => dead = dead.min(at),
                _ => panic!("{line}"),
            }
        }
        frosts.extend(frozen.map(|from| Span { from, to: dead }));
        self.frozen.insert(process, frosts);
        for (job, from) in open.into_values() {
            self.runs.push(Deal { job, process, span: Span { from, to: dead } });
        }
    }

    fn frosts(&self, process: i64) -> &[Span] {
        self.frozen.get(&process).map(Vec::as_slice).unwrap_or_default()
    }

    /// For how much of this time a process was not frozen.
    fn awake(&self, process: i64, span: Span) -> f64 {
        let frosts = self.frosts(process).iter().map(|frost| frost.shared(span));
        span.to - span.from - frosts.sum::<f64>()
    }

    fn was_frozen(&self, process: i64, span: Span) -> bool {
        self.frosts(process).iter().any(|frost| frost.shared(span) > 0.0)
    }

    /// Judges what is recorded: of runs and of claims, job by job.
    fn judge(&self) -> Verdict {
        let mut jobs: HashMap<i64, (Vec<Deal>, Vec<Deal>)> = HashMap::new();
        for run in &self.runs {
            jobs.entry(run.job).or_default().0.push(*run);
        }
        for hold in &self.holds {
            jobs.entry(hold.job).or_default().1.push(*hold);
        }
        let mut verdict = Verdict::default();
        for (mut runs, holds) in jobs.into_values() {
            for (first, second) in pairs(&holds) {
                if first.span.shared(second.span) > 0.0 {
                    verdict.wrong.push(format!("two claims at once: {first:?}, {second:?}"));
                }
            }
            runs.sort_by(|a, b| a.span.from.total_cmp(&b.span.from));
            self.judge_runs(&runs, &holds, &mut verdict);
        }
        verdict
    }

    /// Judges the runs of one job by its claims.
    fn judge_runs(&self, runs: &[Deal], holds: &[Deal], verdict: &mut Verdict) {
        let mut used = vec![false; holds.len()];
        let mut judged: Vec<(Deal, Span)> = Vec::new();
        for run in runs {
            // The last that its process had of the job by then.
            let held = holds
                .iter()
                .enumerate()
                .rfind(|(_, hold)| hold.process == run.process && hold.span.from <= run.span.from);
            let Some((index, hold)) = held else {
                verdict.wrong.push(format!("a run without a claim: {run:?}"));
                continue;
            };
            if std::mem::replace(&mut used[index], true) {
                verdict.wrong.push(format!("a second run in one claim: {run:?}, {hold:?}"));
            }
            let late = Span { from: hold.span.to, to: run.span.to };
            if late.to > late.from {
                let awake = self.awake(run.process, late);
                verdict.late = verdict.late.max(late.to - late.from);
                verdict.awake = verdict.awake.max(awake);
                let stood = self.was_frozen(run.process, Span { from: late.from - LEASE, ..late });
                if !stood {
                    verdict.spotless = verdict.spotless.max(awake);
                }
                if awake > if stood { AWAKE } else { SPOTLESS } {
                    verdict.wrong.push(format!("{awake:.3} s without a claim: {run:?}, {hold:?}"));
                }
            }
            let valid = Span { from: run.span.from, to: run.span.to.min(hold.span.to) };
            judged.push((*run, valid));
        }
        for ((first, valid), (second, also)) in pairs(&judged) {
            let overlap = first.span.shared(second.span);
            if valid.shared(also) > 0.0 {
                verdict.wrong.push(format!("two valid runs at once: {first:?}, {second:?}"));
            } else if overlap > 0.0 {
                verdict.overlaps += 1;
                verdict.longest = verdict.longest.max(overlap);
            }
        }
    }
}

fn pairs<T: Copy>(all: &[T]) -> impl Iterator<Item = (T, T)> {
    (1..all.len()).flat_map(move |n| all[..n].iter().map(move |one| (*one, all[n])))
}

/// Checks what processes wrote in their diaries by the record of who held which job.
pub(crate) async fn no_valid_runs_overlapped(lab: &Lab, folder: &Folder) {
    let mut record = Record::default();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let process = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        record.read(process, &std::fs::read_to_string(path).unwrap());
    }
    let holds: Vec<(i64, i64, f64, f64)> =
        sqlx::query_as(HOLDS).fetch_all(lab.pool()).await.unwrap();
    let hold = |(job, process, from, to)| Deal { job, process, span: Span { from, to } };
    record.holds = holds.into_iter().map(hold).collect();
    let Verdict { wrong, overlaps, longest, late, awake, spotless } = record.judge();
    let (runs, claims) = (record.runs.len(), record.holds.len());
    println!(
        "{runs} runs under {claims} claims: {overlaps} overlapped with one that had lost its \
        claim, for {longest:.3} s at most; {late:.3} s without a claim at most, {awake:.3} s of \
        that awake, {spotless:.3} s of a process that was not frozen"
    );
    assert!(runs > 0 && wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(process: i64, from: f64, to: f64) -> Deal {
        Deal { job: 1, process, span: Span { from, to } }
    }

    fn verdict(runs: &[Deal], holds: &[Deal], frosts: &[(i64, Span)]) -> Verdict {
        let mut record = Record { runs: runs.to_vec(), holds: holds.to_vec(), ..Record::default() };
        for (process, frost) in frosts {
            record.frozen.entry(*process).or_default().push(*frost);
        }
        record.judge()
    }

    #[test]
    fn the_oracle_tells_what_overlapped() {
        let (first, second) = (deal(1, 1.0, 8.0), deal(2, 4.0, 6.0));
        let both = verdict(&[first, second], &[deal(1, 0.0, 9.0), deal(2, 3.0, 7.0)], &[]);
        assert_eq!(both.wrong.len(), 2, "{both:?}");
        assert!(both.wrong[0].starts_with("two claims"), "{both:?}");
        assert!(both.wrong[1].starts_with("two valid runs"), "{both:?}");

        let holds = [deal(1, 0.0, 2.0), deal(2, 3.0, 7.0)];
        let awake = verdict(&[first, second], &holds, &[]);
        assert_eq!((awake.wrong.len(), awake.overlaps, awake.longest), (1, 1, 2.0), "{awake:?}");
        assert!(awake.wrong[0].starts_with("6.000 s without a claim"), "{awake:?}");
        let frost = Span { from: 1.5, to: 7.75 };
        let frozen = verdict(&[first, second], &holds, &[(1, frost)]);
        assert_eq!((frozen.wrong.len(), frozen.overlaps, frozen.awake), (0, 1, 0.25), "{frozen:?}");
        assert_eq!((frozen.longest, frozen.late), (2.0, 6.0), "{frozen:?}");
    }

    #[test]
    fn the_oracle_tells_what_ran_without_a_claim() {
        let run = deal(1, 1.0, 2.0);
        let without = verdict(&[run], &[deal(2, 0.0, 9.0), deal(1, 1.5, 9.0)], &[]);
        assert!(without.wrong.iter().any(|text| text.starts_with("a run without")), "{without:?}");
        let twice = verdict(&[run, deal(1, 3.0, 4.0)], &[deal(1, 0.0, 9.0)], &[]);
        assert!(twice.wrong[0].starts_with("a second run in one claim"), "{twice:?}");
    }

    #[test]
    fn the_oracle_reads_a_diary_that_breaks_off() {
        let mut record = Record::default();
        record.read(7, "1.0 begin 0 1\n2.0 begin 1 2\n3.0 end 0\n4.0 freeze\n9.0 dead\n9.5 be");
        let spans: Vec<_> = record.runs.iter().map(|run| (run.job, run.span)).collect();
        assert_eq!(spans, [(1, Span { from: 1.0, to: 3.0 }), (2, Span { from: 2.0, to: 9.0 })]);
        assert_eq!(record.frozen[&7], [Span { from: 4.0, to: 9.0 }]);
    }
}
