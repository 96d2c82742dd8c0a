"""Reads a delivered set from object storage with an engine and compares it with the snapshot, table by table.

Arguments: engine (pyarrow, polars, duckdb), where it is as JSON (endpoint, bucket; for Azure also account and key), prefix,
snapshot, folder of DuckDB's extensions. Prints {table: {"rows": n, "missing": n, "extra": n}} as JSON.
"""

import json
import sys
from urllib.parse import urlparse

import duckdb
import pyarrow.parquet as pq
from pyarrow import fs

from against_mirror import Mirror

engine, where, prefix, snapshot, extensions = sys.argv[1:]
where = json.loads(where)
address = urlparse(where["endpoint"])


class S3:
    scheme = "s3"
    extension = "httpfs"
    polars = {
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test-secret",
        "aws_region": "us-east-1",
        "aws_endpoint_url": where["endpoint"],
        "aws_allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }
    secret = (
        f"TYPE s3, KEY_ID 'test', SECRET 'test-secret', REGION 'us-east-1', ENDPOINT '{address.netloc}',"
        f" USE_SSL {address.scheme == 'https'}, URL_STYLE 'path'"
    )

    def filesystem(self):
        return fs.S3FileSystem(
            endpoint_override=address.netloc,
            scheme=address.scheme,
            access_key="test",
            secret_key="test-secret",
            region="us-east-1",
        )


class Azure:
    scheme = "az"
    extension = "azure"

    def __init__(self):
        account, key = where["account"], where["key"]
        self.polars = {
            "azure_storage_account_name": account,
            "azure_storage_account_key": key,
            "azure_storage_endpoint": f"{where['endpoint']}/{account}",
            "azure_allow_http": "true",
        }
        blobs = f"BlobEndpoint={where['endpoint']}/{account}"
        self.secret = (
            f"TYPE azure, CONNECTION_STRING 'DefaultEndpointsProtocol={address.scheme};AccountName={account};"
            f"AccountKey={key};{blobs};'"
        )

    def filesystem(self):
        return fs.AzureFileSystem(
            where["account"],
            account_key=where["key"],
            blob_storage_authority=address.netloc,
            blob_storage_scheme=address.scheme,
        )


store = Azure() if "account" in where else S3()


def with_pyarrow(files):
    # As docs/DESTINATIONS.md shows it.
    return pq.ParquetDataset(files, filesystem=store.filesystem()).read()


def with_polars(files):
    import polars as pl

    addresses = [f"{store.scheme}://{file}" for file in files]
    return pl.scan_parquet(addresses, storage_options=store.polars).collect().to_arrow()


def with_duckdb(files):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    db.execute(f"LOAD '{extensions}/{store.extension}.duckdb_extension'")
    db.execute(f"CREATE SECRET ({store.secret})")
    return db.execute("FROM read_parquet(?)", [[f"{store.scheme}://{file}" for file in files]]).to_arrow_table()


read = {"pyarrow": with_pyarrow, "polars": with_polars, "duckdb": with_duckdb}[engine]
root = f"{where['bucket']}/{prefix}"
manifest = json.loads(store.filesystem().open_input_stream(f"{root}/_manifest.json").read())
mirror = Mirror(snapshot)
found = {}
for table in manifest["tables"]:
    files = [f"{root}/{entry['file']}" for entry in manifest["files"] if entry["table"] == table]
    if files:
        mirror.db.register("parts", read(files))
    found[table] = mirror.compare(table, "parts" if files else None)
print(json.dumps(found))
