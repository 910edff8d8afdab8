//! Placing an order: the one place where the web server makes jobs.

use jobkit::Enqueue;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::jobs::{ChargeCard, webhook};

/// An order as the customer sends it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewOrder {
    pub email: String,
    pub sku: String,
    pub cents: i64,
    /// The card, as the provider's script in the browser calls it; never a number.
    pub card: String,
}

/// Stores an order together with its jobs, and returns its number.
///
/// It takes a connection, not the pool, so that the caller decides what else is in the transaction;
/// whatever makes that roll back takes the jobs with it. Nothing is sent from here: a card that was
/// charged for an order that rolled back cannot be taken back.
pub async fn place(order: NewOrder, tx: &mut PgConnection) -> anyhow::Result<i64> {
    let insert = "insert into orders (email, sku, cents) values ($1, $2, $3) returning id";
    let insert = sqlx::query_scalar(insert).bind(&order.email).bind(&order.sku).bind(order.cents);
    let id = insert.fetch_one(&mut *tx).await?;
    ChargeCard { order: id, card: order.card }.enqueue(&mut *tx).await?;
    webhook::announce("order.placed", id, tx).await?;
    Ok(id)
}
