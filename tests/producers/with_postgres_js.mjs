import postgres from "postgres";
import { URL, run } from "./client.mjs";

const sql = postgres(URL, { max: 1 });

const placeOrder = (order, receipt) =>
  sql.begin(async (sql) => {
    // The object itself: of a text it would make a JSON string.
    const [{ job }] = await sql`
      select jobkit.enqueue('send_receipt', ${receipt}, p_tags => ${["shop"]}) as job`;
    await sql`insert into orders (id) values (${order})`;
    return job;
  });

await run(placeOrder, () => sql.end());
