// What the programs for Node have in common: one order and its job, both or neither.
export const URL = process.env.DATABASE_URL;
export const ENQUEUE = "select jobkit.enqueue('send_receipt', $1, p_tags => $2) as job";

/** Runs `placeOrder` with the order's number and its payload, and says what came of it. */
export async function run(placeOrder, close) {
  const order = Number(process.argv[2]);
  try {
    console.log(await placeOrder(order, { order_id: order }));
  } catch (error) {
    const what = error.code?.startsWith("JK") ? "refused" : "not placed";
    console.error(`${what}: ${error.code} ${error.message}`);
    process.exitCode = 1;
  } finally {
    await close();
  }
}
