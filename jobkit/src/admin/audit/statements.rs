use sqlx::postgres::PgRow;

use super::entry::{AuditEntry, AuditFilter, AuditPage};
use crate::admin::Payload;
use crate::admin::columns::payload;
use crate::store::{Answer, FromRow, ReadColumn, Statement, from_row};

/// What operators did, the newest first.
pub(crate) fn audit(filter: &AuditFilter, before: Option<i64>, limit: i64) -> Statement<AuditPage> {
    Statement::new(include_str!("sql/audit_list.sql"))
        .bind(before)
        .bind(limit)
        .bind(&filter.actor)
        .bind(&filter.action)
        .bind(&filter.subject)
        .bind(filter.id)
        .bind(&filter.name)
}

impl Answer for AuditPage {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        let mut page = Self { entries: Vec::with_capacity(rows.len()), next: None };
        for row in rows {
            page.next = row.read("next")?;
            if row.read::<Option<i64>>("id")?.is_some() {
                page.entries.push(AuditEntry::from_row(row)?);
            }
        }
        Ok(page)
    }
}

from_row! {
    AuditEntry { id, at, actor, action, subject, subject_id, subject_name, detail; args: args }
}

fn args(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    row.read::<Option<String>>("args")?.map(|_| payload(row)).transpose()
}
