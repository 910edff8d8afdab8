import knex from "knex";
import { URL, run } from "./client.mjs";

const db = knex({ client: "pg", connection: URL, pool: { min: 0, max: 1 } });

const placeOrder = (order, receipt) =>
  db.transaction(async (trx) => {
    const enqueue = "select jobkit.enqueue('send_receipt', ?, p_tags => ?) as job";
    const { rows } = await trx.raw(enqueue, [receipt, ["shop"]]);
    await trx("orders").insert({ id: order });
    return rows[0].job;
  });

await run(placeOrder, () => db.destroy());
