use sqlx::{PgConnection, Row};

use super::entry::{AuditEntry, AuditFilter, AuditPage};
use crate::admin::Payload;
use crate::admin::payload::hides;
use crate::store::{Call, Times};

/// What operators did, the newest first.
pub(crate) struct Audit<'a> {
    pub(crate) filter: &'a AuditFilter,
    pub(crate) before: Option<i64>,
    pub(crate) limit: i64,
}

impl Call for Audit<'_> {
    type Answer = AuditPage;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<AuditPage> {
        let rows = sqlx::query(include_str!("sql/audit_list.sql"))
            .bind(self.before)
            .bind(self.limit)
            .bind(&self.filter.actor)
            .bind(&self.filter.action)
            .bind(&self.filter.subject)
            .bind(self.filter.id)
            .bind(&self.filter.name)
            .fetch_all(connection)
            .await?;
        let mut page = AuditPage { entries: Vec::with_capacity(rows.len()), next: None };
        for row in &rows {
            page.next = row.try_get("next")?;
            let Some(id) = row.try_get("id")? else { break };
            let args: Option<String> = row.try_get("args")?;
            let hides = hides(row)?;
            page.entries.push(AuditEntry {
                id,
                at: row.time("at")?,
                actor: row.try_get("actor")?,
                action: row.try_get("action")?,
                subject: row.try_get("subject")?,
                subject_id: row.try_get("subject_id")?,
                subject_name: row.try_get("subject_name")?,
                detail: row.try_get("detail")?,
                args: args.map(|args| Payload::new(args, hides)),
            });
        }
        Ok(page)
    }
}
