"""Attaches the newest snapshot by its number, reads it in several statements, and begins again until it is ended. Each
statement must see one generation, the same as the first."""
import json
import os
import signal
import sys
import time
from urllib.request import Request, urlopen

import duckdb

server, key = sys.argv[1], os.environ["DUCKMIRROR_KEY"]
found = {"readings": 0, "mixed": [], "refused": [], "attach_ms": []}
ended = False


def end(*_):
    global ended
    ended = True


signal.signal(signal.SIGTERM, end)
con = duckdb.connect()
con.execute("LOAD httpfs")
con.execute(f"CREATE SECRET (TYPE http, BEARER_TOKEN '{key}', SCOPE '{server}/')")
print("ready", flush=True)
while not ended or not (found["readings"] or found["refused"]):
    try:
        request = Request(f"{server}/snapshots", headers={"Authorization": f"Bearer {key}"})
        n = json.load(urlopen(request))["data"][0]["n"]
        start = time.monotonic()
        con.execute(f"ATTACH '{server}/snapshots/{n}/warehouse.duckdb' AS mirror (READ_ONLY)")
        found["attach_ms"].append(round((time.monotonic() - start) * 1000))
        seen = set()
        for column in ("main_score", "priority"):
            seen |= set(con.execute(f"SELECT DISTINCT {column}::INTEGER FROM mirror.main.accounts").fetchall())
        seen |= set(con.execute("SELECT DISTINCT main_score::INTEGER FROM mirror.marts.account_360").fetchall())
        if len(seen) != 1:
            found["mixed"].append([n, sorted(seen)])
        found["readings"] += 1
        con.execute("DETACH mirror")
    except Exception as error:  # Whatever it is, the test must see it.
        found["refused"].append(repr(error))
        con.execute("DETACH DATABASE IF EXISTS mirror")
print(json.dumps(found), flush=True)
