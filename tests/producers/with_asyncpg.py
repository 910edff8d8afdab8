import asyncio

import asyncpg
from client import URL, run


async def place(order, receipt):
    connection = await asyncpg.connect(URL)
    try:
        async with connection.transaction():
            enqueue = "select jobkit.enqueue('send_receipt', $1, p_tags => $2)"
            job = await connection.fetchval(enqueue, receipt, ["shop"])
            await connection.execute("insert into orders (id) values ($1)", order)
        return job
    finally:
        await connection.close()


run(lambda *args: asyncio.run(place(*args)), lambda error: getattr(error, "sqlstate", None))
