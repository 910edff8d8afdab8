//! The roles that `jobkit roles` prints, in a test's database.

use jobkit::admin::roles;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::Lab;

/// A database with roles of its own, each of which a login has.
pub struct Roles {
    /// Its owner is not one of them.
    pub lab: Lab,
    /// Of the names of the roles.
    pub prefix: String,
}

impl Roles {
    /// Makes them in this database.
    pub async fn new(lab: Lab) -> Self {
        let prefix = format!("r{:012x}_", fastrand::u64(..1 << 48));
        let sql = roles::sql(&prefix).expect("the prefix is one");
        // Twice: whoever upgrades applies it again.
        lab.run(&sql).await;
        lab.run(&sql).await;
        for role in ["migrator", "producer", "worker", "viewer", "operator"] {
            let login = format!("create role {prefix}{role}_login login in role {prefix}{role}");
            lab.run(&login).await;
        }
        Self { lab, prefix }
    }

    fn options(&self, role: &str) -> PgConnectOptions {
        let options: PgConnectOptions = self.lab.url().parse().expect("it is a URL");
        options.username(&format!("{}{role}_login", self.prefix))
    }

    /// A pool of the login that has this role.
    pub fn pool(&self, role: &str) -> PgPool {
        PgPoolOptions::new().max_connections(4).connect_lazy_with(self.options(role))
    }

    /// The database's URL for the login that has this role.
    pub fn url(&self, role: &str) -> String {
        self.options(role).to_url_lossy().to_string()
    }

    /// Roles are those of the server: they have to go before the next run.
    pub async fn end(self) {
        let Self { lab, prefix } = self;
        lab.run(&format!("reassign owned by {prefix}owner to current_user")).await;
        for role in ["owner", "migrator", "producer", "worker", "viewer", "operator"] {
            let login = format!("{prefix}{role}_login");
            lab.run(&format!("drop role if exists {login}")).await;
            lab.run(&format!("drop owned by {prefix}{role}; drop role {prefix}{role}")).await;
        }
    }
}
