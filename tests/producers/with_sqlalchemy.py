import json

from client import URL, run
from sqlalchemy import cast, create_engine, func, select, text
from sqlalchemy.dialects.postgresql import JSONB

ENGINE = create_engine(URL.replace("postgres://", "postgresql+psycopg://", 1))


def place_order(order, receipt):
    with ENGINE.begin() as connection:
        # The type of a payload is said: as a text no function takes it.
        payload, tags = cast(json.loads(receipt), JSONB), text("p_tags => cast(:tags as text[])")
        job = connection.execute(
            select(func.jobkit.enqueue("send_receipt", payload, tags)), {"tags": ["shop"]}
        ).scalar_one()
        connection.execute(text("insert into orders (id) values (:order)"), {"order": order})
    return job


run(place_order, lambda error: getattr(getattr(error, "orig", None), "sqlstate", None))
