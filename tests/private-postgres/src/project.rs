use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::host::{Host, remove_folder};
use crate::server::{Server, url};
use crate::{Mode, Purpose, port};

/// The folder with a project's clusters.
#[derive(Debug)]
pub(crate) struct Project {
    host: Arc<Host>,
    folder: PathBuf,
    /// Of the cluster for tests.
    for_tests: PathBuf,
}

/// Names a folder for the cluster for tests. It holds nothing of value, so it may be in memory:
/// making and dropping a database is hundreds of files, a fifth of what most tests take on a disk.
const FOR_TESTS: &str = "PRIVATE_POSTGRES_FOR_TESTS";

/// Found once per process: it takes a few child processes to find out.
static FOUND: Mutex<Option<Arc<Project>>> = Mutex::new(None);

/// Shared locks that say "this process uses the cluster", held until the process ends.
static IN_USE: Mutex<Vec<(Purpose, File)>> = Mutex::new(Vec::new());

impl Project {
    pub(crate) fn find() -> Result<Arc<Self>> {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(project) = &*found {
            return Ok(Arc::clone(project));
        }
        let host = Arc::new(Host::find()?);
        let root = root()?;
        let inside = root.join(".postgres");
        let folder = if host.account.make_folder(&inside).is_ok() {
            inside
        } else {
            // Root's home, say, where the account we switch to cannot go.
            let hash = port::hash(&root);
            host.temporary_folder(&format!("private-postgres-{}-{hash:016x}", host.account.uid()))?
        };
        let for_tests = match std::env::var_os(FOR_TESTS).map(PathBuf::from) {
            Some(chosen) => {
                host.account.make_folder(&chosen)?;
                chosen
            }
            None => folder.clone(),
        };
        let project = Arc::new(Self { host, folder, for_tests });
        *found = Some(Arc::clone(&project));
        Ok(project)
    }

    pub(crate) fn url(&self, purpose: Purpose) -> Result<String> {
        let server = self.server(purpose);
        let _turn = self.turn(&server)?;
        self.mark_used(purpose, &server)?;
        if let Some(postmaster) = server.running()? {
            return Ok(url(postmaster.port));
        }
        if !server.exists() {
            self.host.initdb(&server.data)?;
        }
        let port = server.start(None).or_else(|error| match purpose {
            Purpose::Demo => Err(error),
            // Without flushing, a power failure leaves a broken folder, and it holds nothing of
            // value.
            Purpose::Test => {
                self.host.initdb(&server.data)?;
                server.start(None)
            }
        })?;
        Ok(url(port))
    }

    /// False when another process uses the cluster.
    pub(crate) fn stop(&self, purpose: Purpose) -> Result<bool> {
        let server = self.server(purpose);
        let _turn = self.turn(&server)?;
        let unused = self.lock_file(&server, "used")?.try_lock().is_ok();
        if unused {
            server.stop(Mode::Fast)?;
        }
        Ok(unused)
    }

    /// A fresh data folder to copy from: ten times as fast as `initdb`.
    pub(crate) fn template(&self) -> Result<PathBuf> {
        let name = format!("template-{}", self.host.programs.major());
        let template = self.named(&self.folder, &name, &[]);
        let _turn = self.turn(&template)?;
        if !template.exists() {
            self.host.initdb(&template.data)?;
        }
        Ok(template.data)
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The folder's name has the major version in it: after an upgrade of the programs a new one
    /// is made, and the old one stays for whoever goes back.
    fn server(&self, purpose: Purpose) -> Server {
        let major = self.host.programs.major();
        match purpose {
            Purpose::Demo => self.named(&self.folder, &format!("demo-{major}"), &[]),
            Purpose::Test => {
                let mut settings = vec![
                    ("fsync", "off"),
                    ("full_page_writes", "off"),
                    // Of checks of a few rows each, most of the time would be compiling them.
                    ("jit", "off"),
                    ("max_connections", "300"),
                ];
                if self.host.programs.has_library("pg_stat_statements") {
                    settings.push(("shared_preload_libraries", "pg_stat_statements"));
                }
                self.named(&self.for_tests, &format!("test-{major}"), &settings)
            }
        }
    }

    fn named(&self, folder: &Path, name: &str, settings: &[(&str, &str)]) -> Server {
        Server {
            host: Arc::clone(&self.host),
            data: folder.join(name),
            settings: settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        }
    }

    /// Waits until no other process or thread makes, starts or stops the same cluster; lasts as
    /// long as the file.
    fn turn(&self, server: &Server) -> Result<File> {
        let file = self.lock_file(server, "lock")?;
        file.lock()?;
        // Whoever was killed in the middle of initdb left this behind.
        let folder = server.data.parent().context("a data folder is in a folder")?;
        for entry in std::fs::read_dir(folder)?.flatten() {
            let path = entry.path();
            let unfinished =
                path.extension().is_some_and(|e| e.as_encoded_bytes().starts_with(b"new-"));
            if unfinished && path.file_stem() == server.data.file_stem() {
                remove_folder(&path)?;
            }
        }
        Ok(file)
    }

    fn mark_used(&self, purpose: Purpose, server: &Server) -> Result<()> {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if in_use.iter().all(|(used, _)| *used != purpose) {
            let file = self.lock_file(server, "used")?;
            file.lock_shared()?;
            in_use.push((purpose, file));
        }
        Ok(())
    }

    fn lock_file(&self, server: &Server, extension: &str) -> Result<File> {
        let path = server.data.with_extension(extension);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(&path).with_context(|| format!("open {}", path.display()))
    }
}

/// The folder of `Cargo.lock`: of the package that cargo runs, else of this one.
fn root() -> Result<PathBuf> {
    let running = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let start = running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let start = start.canonicalize().with_context(|| format!("find {}", start.display()))?;
    let root = start.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.map(Path::to_owned).with_context(|| format!("no Cargo.lock above {}", start.display()))
}
