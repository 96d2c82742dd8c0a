"""Reads a delivered set from S3 with an engine and compares it with the snapshot, table by table.

Arguments: engine (pyarrow, polars, duckdb), endpoint, bucket/prefix, snapshot, folder of DuckDB's extensions.
Prints {table: {"rows": n, "missing": n, "extra": n}} as JSON.
"""

import json
import sys
from urllib.parse import urlparse

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from against_mirror import Mirror

engine, endpoint, root, snapshot, extensions = sys.argv[1:]
address = urlparse(endpoint)
s3 = fs.S3FileSystem(
    endpoint_override=address.netloc,
    scheme=address.scheme,
    access_key="test",
    secret_key="test-secret",
    region="us-east-1",
)


def with_pyarrow(files):
    # As docs/DESTINATIONS.md shows it.
    return pq.ParquetDataset(files, filesystem=s3).read()


def with_polars(files):
    import polars as pl

    options = {
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test-secret",
        "aws_region": "us-east-1",
        "aws_endpoint_url": endpoint,
        "aws_allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }
    return pl.scan_parquet([f"s3://{file}" for file in files], storage_options=options).collect().to_arrow()


def with_duckdb(files):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    db.execute(f"LOAD '{extensions}/httpfs.duckdb_extension'")
    db.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test-secret', REGION 'us-east-1', ENDPOINT '{address.netloc}',"
        f" USE_SSL {address.scheme == 'https'}, URL_STYLE 'path')"
    )
    return db.execute("FROM read_parquet(?)", [[f"s3://{file}" for file in files]]).to_arrow_table()


read = {"pyarrow": with_pyarrow, "polars": with_polars, "duckdb": with_duckdb}[engine]
manifest = json.loads(s3.open_input_stream(f"{root}/_manifest.json").read())
mirror = Mirror(snapshot)
found = {}
for table in manifest["tables"]:
    files = [f"{root}/{entry['file']}" for entry in manifest["files"] if entry["table"] == table]
    if files:
        mirror.db.register("parts", read(files))
    found[table] = mirror.compare(table, "parts" if files else None)
print(json.dumps(found))
