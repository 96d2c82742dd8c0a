"""Attaches the snapshots of a destination of kind snapshot, as docs/DESTINATIONS.md shows it, and counts their signals.

Arguments: endpoint, address of the destination, folder of DuckDB's extensions, numbers of snapshots. Prints the counts as
JSON: that of now/ and one for each number.
"""

import json
import sys
from urllib.parse import urlparse

import duckdb

endpoint, address, extensions, *numbers = sys.argv[1:]
db = duckdb.connect()
db.execute(f"LOAD '{extensions}/httpfs.duckdb_extension'")
db.execute(
    "CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test-secret', REGION 'us-east-1', URL_STYLE 'path',"
    f" USE_SSL false, ENDPOINT '{urlparse(endpoint).netloc}')"
)
found = []
for path in ["now", *(f"snapshots/{n}" for n in numbers)]:
    db.execute(f"ATTACH '{address}/{path}/warehouse.duckdb' AS mirror (READ_ONLY)")
    found += db.execute("SELECT count(*)::INTEGER FROM mirror.main.signals").fetchone()
    db.execute("FROM mirror.marts.account_360").fetchall()
    db.execute("DETACH mirror")
print(json.dumps(found))
