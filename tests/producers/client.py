"""What the programs in Python have in common: one order and its job, both or neither."""
import json
import os
import sys
from urllib.parse import urlsplit

URL = os.environ["DATABASE_URL"]
ADDRESS = urlsplit(URL)


def run(place_order, sqlstate):
    """Runs `place_order` with the order's number and its payload, and says what came of it."""
    order = int(sys.argv[1])
    try:
        print(place_order(order, json.dumps({"order_id": order})))
    except Exception as error:  # each library has its own
        code = sqlstate(error) or ""
        sys.exit(f"{'refused' if code.startswith('JK') else 'not placed'}: {code} {error}")
