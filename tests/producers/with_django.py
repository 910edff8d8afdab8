import django
from client import ADDRESS, run
from django.conf import settings
from django.db import connection, transaction

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": ADDRESS.path[1:], "USER": ADDRESS.username,
    "HOST": ADDRESS.hostname, "PORT": ADDRESS.port, "OPTIONS": {"sslmode": "disable"},
}})
django.setup()


def place_order(order, receipt):
    with transaction.atomic(), connection.cursor() as cursor:
        enqueue = "select jobkit.enqueue('send_receipt', %s, p_tags => %s)"
        cursor.execute(enqueue, [receipt, ["shop"]])
        job = cursor.fetchone()[0]
        cursor.execute("insert into orders (id) values (%s)", [order])
    return job


run(place_order, lambda error: getattr(error.__cause__, "sqlstate", None))
