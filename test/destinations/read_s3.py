"""Reads a delivered set with pyarrow and compares it with the snapshot, table by table, in DuckDB.

Arguments: endpoint, bucket/prefix, snapshot. Prints {table: {"rows": n, "missing": n, "extra": n}} as JSON.
"""

import json
import sys
from urllib.parse import urlparse

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

endpoint, root, snapshot = sys.argv[1:]
address = urlparse(endpoint)
s3 = fs.S3FileSystem(
    endpoint_override=address.netloc,
    scheme=address.scheme,
    access_key="test",
    secret_key="test-secret",
    region="us-east-1",
)
manifest = json.loads(s3.open_input_stream(f"{root}/_manifest.json").read())
db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
db.execute(f"ATTACH '{snapshot}' AS mirror (READ_ONLY)")
found = {}
for table in manifest["tables"]:
    files = [entry["file"] for entry in manifest["files"] if entry["table"] == table]
    columns = db.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'mirror' AND schema_name = 'main'"
        " AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    wanted = ", ".join(f'CAST("{name}" AS VARCHAR) AS "{name}"' if kind == "JSON" else f'"{name}"' for name, kind in columns)
    names = ", ".join(f'"{name}"' for name, _ in columns)
    mirror = f"SELECT {wanted} FROM mirror.main.{table}"
    if not files:
        rows = db.execute(f"SELECT count(*) FROM ({mirror})").fetchone()[0]
        found[table] = {"rows": 0, "missing": rows, "extra": 0}
        continue
    parts = pa.concat_tables([pq.read_table(s3.open_input_file(f"{root}/{file}")) for file in files])
    db.register("parts", parts)
    delivered = f"SELECT {names} FROM parts"
    count = lambda query: db.execute(f"SELECT count(*) FROM ({query})").fetchone()[0]
    found[table] = {
        "rows": count(delivered),
        "missing": count(f"{mirror} EXCEPT ALL {delivered}"),
        "extra": count(f"{delivered} EXCEPT ALL {mirror}"),
    }
print(json.dumps(found))
