import pg8000.native
from client import ADDRESS, run


def place_order(order, receipt):
    connection = pg8000.native.Connection(
        ADDRESS.username, host=ADDRESS.hostname, port=ADDRESS.port, database=ADDRESS.path[1:]
    )
    connection.run("begin")  # what is not committed when it closes is rolled back
    enqueue = "select jobkit.enqueue('send_receipt', :receipt, p_tags => :tags)"
    job = connection.run(enqueue, receipt=receipt, tags=["shop"])[0][0]
    connection.run("insert into orders (id) values (:order)", order=order)
    connection.run("commit")
    connection.close()
    return job


def sqlstate(error):
    return error.args[0].get("C") if error.args and isinstance(error.args[0], dict) else None


run(place_order, sqlstate)
