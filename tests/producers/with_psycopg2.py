import psycopg2
from client import URL, run


def place_order(order, receipt):
    with psycopg2.connect(URL) as connection, connection.cursor() as cursor:
        enqueue = "select jobkit.enqueue('send_receipt', %s, p_tags => %s)"
        cursor.execute(enqueue, (receipt, ["shop"]))
        job = cursor.fetchone()[0]
        cursor.execute("insert into orders (id) values (%s)", (order,))
    return job


run(place_order, lambda error: getattr(error, "pgcode", None))
