import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { URL, run } from "./client.mjs";

const pool = new pg.Pool({ connectionString: URL, max: 1 });
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });

const placeOrder = (order, receipt) =>
  db.transaction().execute(async (trx) => {
    const enqueue = sql`
      select jobkit.enqueue('send_receipt', ${receipt}, p_tags => ${["shop"]}) as job`;
    const { rows } = await enqueue.execute(trx);
    await trx.insertInto("orders").values({ id: order }).execute();
    return rows[0].job;
  });

await run(placeOrder, () => db.destroy());
