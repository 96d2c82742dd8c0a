"""Reads a lake with DuckDB from Python and compares it with snapshots, table by table, now and as it was.

Argument: JSON of {extensions, catalog, endpoint, files, snapshots: [{change, snapshot}], wanted}. `catalog`: what ATTACH
takes. `files`: address of the data. `change`: number of the last change of the delivery that brought the snapshot;
null: the lake as it is now. `wanted`: a text; `holding` is how many rows of the lake's files, old ones too, hold it.
Prints {"found": [{"change", "differences": {table: {"rows", "missing", "extra"}}, "rows": n}], "files": n, "holding": n} as JSON.
"""

import json
import sys
from urllib.parse import urlparse

import duckdb

from against_mirror import Mirror

asked = json.loads(sys.argv[1])
db = duckdb.connect()
for name in ["httpfs", "sqlite_scanner", "postgres_scanner", "ducklake"]:
    db.execute(f"LOAD '{asked['extensions']}/{name}.duckdb_extension'")
address = urlparse(asked["endpoint"])
db.execute(
    f"CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test-secret', REGION 'us-east-1', ENDPOINT '{address.netloc}',"
    f" USE_SSL {address.scheme == 'https'}, URL_STYLE 'path')"
)
db.execute(f"ATTACH '{asked['catalog']}' AS lake (READ_ONLY)")
versions = {
    json.loads(extra)["change"]: version
    for version, extra in db.execute(
        "SELECT snapshot_id, commit_extra_info FROM ducklake_snapshots('lake') WHERE author = 'duckmirror'"
        " ORDER BY snapshot_id"
    ).fetchall()
}
found = []
for one in asked["snapshots"]:
    change = one["change"]
    mirror = Mirror(one["snapshot"], db)
    at = "" if change is None else f"AT (VERSION => {versions[change]})"
    compared = {table: mirror.compare(table, f"lake.main.{table} {at}") for table in mirror.tables()}
    differences = {table: one for table, one in compared.items() if one["missing"] or one["extra"]}
    found.append({"change": change, "differences": differences, "rows": sum(one["rows"] for one in compared.values())})
    mirror.close()
files = db.execute("SELECT file FROM glob(?)", [f"{asked['files']}/**/*.parquet"]).fetchall()
holding = 0
for (file,) in files:
    (held,) = db.execute(
        "SELECT count(*) FROM read_parquet(?) AS t WHERE contains(CAST(t AS VARCHAR), ?)", [file, asked["wanted"]]
    ).fetchone()
    holding += held
print(json.dumps({"found": found, "files": len(files), "holding": holding}))
