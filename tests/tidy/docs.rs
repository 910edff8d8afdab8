//! What users read: links lead somewhere, pages keep to their size, answers stand where they are
//! said to, and phrases that were edited out stay out.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::forbid;
use crate::sources::{self, Source};

const README: &str = "README.md";
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const GLOSSARY: &str = "docs/glossary.md";
const QUESTIONS: &str = "docs/questions.md";
const TOUR: &str = "docs/tour.md";

/// How many bytes a page may have.
const SIZES: [(&str, usize); 2] = [(README, 8 * 1024), (ARCHITECTURE, 16 * 1024)];

/// How many terms the glossary may have.
const TERMS: usize = 40;

/// How many questions there are at least.
const ASKED: usize = 30;

/// Where prose is looked at: files, and folders with a slash at the end.
const PROSE: [&str; 9] = [
    README,
    ARCHITECTURE,
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/",
    "jobkit/src/docs/crate.md",
    "jobkit-admin/src/docs/",
    "tests/README.md",
];

/// Phrases that come back, and what to write instead.
const BANNED: [(&str, &str); 12] = [
    ("those of them that", "the noun"),
    ("by itself", "automatically, alone"),
    ("by themselves", "automatically"),
    ("by himself", "they, automatically"),
    ("how it stands", "status"),
    ("those that are meant", "those that match"),
    ("all that a filter means", "everything that matches a filter"),
    ("first first", "the earliest"),
    ("longest does", "the longest wait"),
    ("with whom it did not go", "those that failed"),
    ("what is none", "the noun"),
    ("lest ", "so that … not"),
];

fn is_prose(path: &str) -> bool {
    PROSE.iter().any(|place| match place.ends_with('/') {
        true => path.starts_with(place) && path.ends_with(".md"),
        false => path == *place,
    })
}

fn pages() -> Vec<Source> {
    let pages = sources::all().into_iter().filter(|source| is_prose(&source.path));
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() > 20, "the pages were not found");
    pages
}

fn page(path: &str) -> Source {
    pages().into_iter().find(|page| page.path == path).unwrap()
}

/// The lines of a page that are not code, counted from 1.
fn text(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    source.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The targets of the links and pictures in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    // What stands in backticks is no link.
    line.split('`').step_by(2).flat_map(|part| {
        part.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
    })
}

/// The name that a heading has in an address: lower case, hyphens for spaces, punctuation gone.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' | '-' => Some('-'),
        c if c.is_alphanumeric() || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

fn anchors(source: &Source) -> BTreeSet<String> {
    let headings = text(source).filter_map(|(_, line)| line.strip_prefix('#'));
    headings.map(|heading| anchor(heading.trim_start_matches('#'))).collect()
}

/// A path as seen from the folder of a page, without `..`; `None` when it leaves the repository.
fn resolve(page: &str, target: &str) -> Option<PathBuf> {
    let mut path = Path::new(page).parent()?.to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

/// What is wrong with a link; nothing of one that leads elsewhere.
fn broken(page: &Source, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let missing = |anchors: BTreeSet<String>| {
        let there = fragment.is_empty() || anchors.contains(fragment);
        (!there).then(|| format!("{target}: there is no such heading"))
    };
    if file.is_empty() {
        return missing(anchors(page));
    }
    let Some(path) = resolve(&page.path, file) else {
        return Some(format!("{target}: it leads out of the repository"));
    };
    let on_disk = sources::root().join(&path);
    if !on_disk.exists() {
        return Some(format!("{target}: there is no {}", path.display()));
    }
    // A folder or a picture has no headings.
    let text = std::fs::read_to_string(on_disk).unwrap_or_default();
    missing(anchors(&Source { path: path.display().to_string(), text }))
}

#[test]
fn every_link_leads_somewhere() {
    let mut breaches = Vec::new();
    for page in pages() {
        // These are for rustdoc, which checks its links.
        if page.path.contains("/src/") {
            continue;
        }
        for (number, line) in text(&page) {
            let broken = links(line).filter_map(|target| broken(&page, target));
            breaches.extend(broken.map(|what| format!("{}: {what}", page.at(number))));
        }
    }
    forbid("a link leads to a file, and to a heading of it", breaches);
}

#[test]
fn every_page_is_reached() {
    let pages = pages();
    let mut linked = BTreeSet::new();
    for page in &pages {
        let targets = text(page).flat_map(|(_, line)| links(line));
        linked.extend(targets.filter_map(|target| resolve(&page.path, target.split('#').next()?)));
    }
    let folder = |path: &str| Path::new(path).parent().unwrap().to_path_buf();
    let lost = pages.iter().filter(|page| page.path.starts_with("docs/"));
    let lost = lost.filter(|page| {
        !linked.contains(Path::new(&page.path)) && !linked.contains(&folder(&page.path))
    });
    forbid("some page links to each page of docs/", lost.map(|page| page.path.clone()));
}

#[test]
fn pages_are_short() {
    let breaches = SIZES.iter().filter_map(|(path, most)| {
        let bytes = page(path).text.len();
        (bytes > *most).then(|| format!("{path} has {bytes} bytes of {most}"))
    });
    forbid("README is a door and ARCHITECTURE a map", breaches);
}

#[test]
fn the_glossary_is_short() {
    let glossary = page(GLOSSARY);
    let terms = text(&glossary).filter(|(_, line)| line.starts_with("| **")).count();
    assert!((20..=TERMS).contains(&terms), "{terms} terms, {TERMS} are allowed");
}

#[test]
fn phrases_that_were_edited_out_stay_out() {
    let mut breaches = Vec::new();
    for page in pages() {
        for (number, line) in text(&page) {
            let line = line.to_lowercase();
            let found = BANNED.iter().filter(|(phrase, _)| line.contains(phrase));
            breaches.extend(found.map(|(phrase, better)| {
                format!("{}: \"{phrase}\"; write: {better}", page.at(number))
            }));
        }
    }
    forbid("say it as an engineer would", breaches);
}

#[test]
fn every_block_of_code_is_compiled() {
    let mut breaches = Vec::new();
    for page in pages() {
        let blocks = page.lines().filter(|(_, line)| line.trim_start().starts_with("```rust"));
        let ignored = blocks.filter(|(_, line)| line.contains("ignore"));
        breaches.extend(ignored.map(|(number, _)| page.at(number)));
    }
    forbid("nothing checks a block that is ignored", breaches);
    let packages = ["", "drivers/", "otel/", "webhooks/"];
    let compiled = packages
        .map(|package| format!("tests/{package}pages.rs"))
        .map(|path| std::fs::read_to_string(sources::root().join(path)).unwrap())
        .concat();
    let missing = pages().into_iter().filter(|page| {
        let has_code = page.text.contains("```rust");
        has_code
            && !page.path.contains("/src/")
            && !compiled.contains(&format!("/../{}", page.path))
    });
    forbid(
        "tests/pages.rs or tests/drivers/pages.rs compiles each page that has code",
        missing.map(|page| page.path),
    );
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A question of a line, with its page and the words that answer it.
fn question(line: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = line.split_once(". **")?;
    let (question, rest) = rest.split_once("** [")?;
    let (_, rest) = rest.split_once("](")?;
    let (target, rest) = rest.split_once("): “")?;
    Some((question, target, rest.strip_suffix('”')?))
}

#[test]
fn every_question_is_answered_where_it_says() {
    let (file, mut wrong, mut asked) = (page(QUESTIONS), Vec::new(), 0);
    for (number, line) in file.lines().filter(|(_, line)| line.starts_with(char::is_numeric)) {
        asked += 1;
        let answered = question(line).is_some_and(|(_, target, answer)| {
            let path = resolve(QUESTIONS, target).unwrap();
            flat(&page(path.to_str().unwrap()).text).contains(answer)
        });
        if !answered {
            wrong.push(format!("{}: {line}", file.at(number)));
        }
    }
    forbid("an answer stands in its page, word for word", wrong);
    assert!(asked >= ASKED, "{asked} questions, at least {ASKED} are wanted");
}

#[test]
fn links_and_headings_are_read() {
    let found: Vec<_> = links("[a](b.md#c) and ![d](e.png), `[f](g)`").collect();
    assert_eq!(found, ["b.md#c", "e.png"]);
    assert_eq!(anchor(" Why no CHECK on `jobs`, and so few?"), "why-no-check-on-jobs-and-so-few");
    assert_eq!(resolve("docs/a.md", "../b/c.rs").as_deref(), Some(Path::new("b/c.rs")));
    assert_eq!(resolve("a.md", "../b"), None);
    let page = Source { path: README.to_owned(), text: "# One\n```\n# Two\n```\n".to_owned() };
    assert_eq!(anchors(&page).into_iter().collect::<Vec<_>>(), ["one"]);
    assert!(broken(&page, "#two").is_some() && broken(&page, "docs/nowhere.md").is_some());
    assert!(broken(&page, "#one").is_none() && broken(&page, "https://example.com").is_none());
    let line = "1. **Why?** [Page](a.md): “because”";
    assert_eq!(question(line), Some(("Why?", "a.md", "because")));
}

/// The words in backticks of a page, in their order.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Files that the tour names and that are not there, and what it says to look for and is not in the
/// file named last.
fn lost_on_the_way(tour: &str, sources: &[Source]) -> Vec<String> {
    let mut at = None;
    let mut lost = Vec::new();
    for name in quoted(tour) {
        let is_item = ["fn ", "struct ", "enum ", "trait ", "jobkit."];
        if name.contains('/') {
            at = sources.iter().find(|source| source.path == name);
            let is_folder = name.ends_with('/');
            let below = || sources.iter().any(|source| source.path.starts_with(name));
            if at.is_none() && !(is_folder && below()) {
                lost.push(format!("there is no {name}"));
            }
        } else if is_item.iter().any(|start| name.starts_with(start)) {
            let known = at.is_some_and(|source| {
                let after = source.text.split(name).skip(1);
                let mut after = after.filter_map(|rest| rest.chars().next());
                after.any(|next| !next.is_alphanumeric() && next != '_')
            });
            if !known {
                lost.push(format!("{} has no {name}", at.map_or("nothing", |at| &at.path)));
            }
        }
    }
    lost
}

#[test]
fn the_tour_leads_past_what_is_there() {
    let sources = sources::all();
    let tour = sources.iter().find(|source| source.path == TOUR).unwrap();
    assert!(quoted(&tour.text).len() > 50, "it names files");
    forbid("the tour names files and items that exist", lost_on_the_way(&tour.text, &sources));
}

#[test]
fn a_wrong_turn_is_found() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [source("a/b.rs", "pub struct Claim; fn claimed() {}")];
    let lost = |tour: &str| lost_on_the_way(tour, &sources);
    assert!(lost("`a/b.rs` (`struct Claim`, `fn claimed`) in `a/`").is_empty());
    assert_eq!(lost("`a/c.rs` has nothing"), ["there is no a/c.rs"]);
    assert_eq!(lost("`a/b.rs` (`fn claim`)"), ["a/b.rs has no fn claim"]);
}
