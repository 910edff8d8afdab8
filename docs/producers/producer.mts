// Stores an order and enqueues its receipt, both or neither.
// npm install pg; DATABASE_URL=postgres://… npx tsx producer.mts 7
import pg from "pg";

const ENQUEUE = "select jobkit.enqueue('send_receipt', $1, p_tags => $2) as job";

async function placeOrder(client: pg.Client, orderId: number): Promise<string> {
  await client.query("begin");
  try {
    const receipt = { order_id: orderId };
    const { rows } = await client.query<{ job: string }>(ENQUEUE, [receipt, ["shop"]]);
    await client.query("insert into orders (id) values ($1)", [orderId]);
    await client.query("commit");
    return rows[0]!.job; // a text: JavaScript's numbers are too small for a bigint
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
try {
  console.log(await placeOrder(client, Number(process.argv[2])));
} catch (error) {
  if (!(error instanceof pg.DatabaseError)) throw error;
  // JK…: a mistake, the same again fails again.
  const what = error.code?.startsWith("JK") ? "refused" : "not placed";
  console.error(`${what}: ${error.code} ${error.message}`);
  process.exitCode = 1;
} finally {
  await client.end();
}
