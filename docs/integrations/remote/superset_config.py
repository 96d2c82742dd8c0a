"""Part of Superset's superset_config.py: each connection to `duckdb:///:memory:` reads the mirror by its address."""
import os

from sqlalchemy import event
from sqlalchemy.pool import Pool

URL, KEY = os.environ["DUCKMIRROR_URL"], os.environ["DUCKMIRROR_KEY"]


@event.listens_for(Pool, "connect")
def attach_mirror(connection, _):
    # Superset keeps its own tables elsewhere.
    if "duckdb" not in type(connection).__module__:
        return
    cursor = connection.cursor()
    cursor.execute("LOAD httpfs")
    cursor.execute(f"CREATE OR REPLACE SECRET (TYPE http, BEARER_TOKEN '{KEY}', SCOPE '{URL}/')")
    cursor.execute(f"ATTACH IF NOT EXISTS '{URL}/warehouse.duckdb' AS mirror (READ_ONLY)")
    cursor.execute("USE mirror")
    cursor.close()
