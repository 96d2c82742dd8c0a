"""The mirror of another machine, by its address. Usage: DUCKMIRROR_KEY=dm_… python readers.py http://host:8737"""
import json
import os
import sys
from urllib.request import Request, urlopen

import duckdb

server, key = sys.argv[1].rstrip("/"), os.environ["DUCKMIRROR_KEY"]

con = duckdb.connect()
con.execute("INSTALL httpfs")
con.execute("LOAD httpfs")
# The views show times of day in UTC.
con.execute("SET TimeZone = 'UTC'")
con.execute(f"CREATE SECRET mirror (TYPE http, BEARER_TOKEN '{key}', SCOPE '{server}/')")

# A look at the present snapshot.
con.execute(f"ATTACH '{server}/warehouse.duckdb' AS now (READ_ONLY)")
print(con.execute("SELECT count(*) FROM now.marts.account_360").fetchone()[0], "accounts now")

# A longer reading: by its number a snapshot never changes, whatever is published meanwhile.
request = Request(f"{server}/snapshots", headers={"Authorization": f"Bearer {key}"})
newest = json.load(urlopen(request))["data"][0]
con.execute(f"ATTACH '{server}/snapshots/{newest['n']}/warehouse.duckdb' AS mirror (READ_ONLY)")
frame = con.execute("SELECT account_name, main_score FROM mirror.marts.account_360 ORDER BY account_name").df()
print(len(frame), "accounts in a frame of pandas, of change", newest["position"])

# As of a moment: yesterday, 7d, or a time like 2026-11-01T10:00Z.
moment = sys.argv[2] if len(sys.argv) > 2 else "yesterday"
try:
    con.execute(f"ATTACH '{server}/warehouse.duckdb?at={moment}' AS earlier (READ_ONLY)")
    print(con.execute("SELECT count(*) FROM earlier.main.accounts").fetchone()[0], "accounts as of", moment)
except duckdb.Error:
    print("no snapshot as of", moment, "is kept")
