"""Reads a lake with 20 readers at a time until a file appears; prints what each read saw: position, rows, sum of ids."""
import json
import os
import sys
import threading
import duckdb

catalog, extensions, stop = sys.argv[1:4]
seen, failed = set(), []


def read():
    connection = duckdb.connect()
    for name in ("ducklake", "sqlite_scanner"):
        connection.execute(f"LOAD '{extensions}/{name}.duckdb_extension'")
    connection.execute(f"SET threads = 1; ATTACH '{catalog}' AS lake (READ_ONLY)")
    while True:
        last = os.path.exists(stop)
        try:
            row = connection.execute(
                "SELECT (SELECT n FROM lake.main._duckmirror), count(*), sum(id) FROM lake.main.signals"
            ).fetchone()
            seen.add(tuple(int(cell) for cell in row))
        except duckdb.Error as error:
            failed.append(str(error))
        if last:
            return


threads = [threading.Thread(target=read) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"seen": sorted(seen), "failed": sorted(set(failed))}))
