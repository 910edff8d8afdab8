"""Stores an order and enqueues its receipt, both or neither.

pip install 'psycopg[binary]'; DATABASE_URL=postgres://… python producer.py 7
"""
import os
import sys

import psycopg
from psycopg.types.json import Jsonb

ENQUEUE = "select jobkit.enqueue('send_receipt', %s, p_tags => %s)"


def place_order(connection, order_id):
    with connection.transaction():  # commits at its end; an exception rolls back
        receipt = Jsonb({"order_id": order_id})
        job = connection.execute(ENQUEUE, (receipt, ["shop"])).fetchone()[0]
        connection.execute("insert into orders (id) values (%s)", (order_id,))
    return job


def main():
    order_id = int(sys.argv[1])
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        try:
            print(place_order(connection, order_id))
        except psycopg.Error as error:
            if (error.sqlstate or "").startswith("JK"):  # a mistake: the same again fails again
                sys.exit(f"refused: {error.sqlstate} {error.diag.message_primary}")
            sys.exit(f"not placed: {error}")


if __name__ == "__main__":
    main()
