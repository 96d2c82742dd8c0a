"""One consistent set of exported files, also while an export runs: read the manifest before and after.
Usage: python consistent_set.py <data directory>"""
import json
import pathlib
import sys

import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1]) / "export"
for attempt in range(5):
    before = (folder / "_manifest.json").read_text()
    files = [entry for entry in json.loads(before)["files"] if entry["table"] == "signals"]
    try:
        tables = [pq.ParquetFile(folder / entry["file"]).read() for entry in files]
    except FileNotFoundError:
        continue  # A month went away in between: take the next set.
    unchanged = all((folder / entry["file"]).stat().st_size == entry["bytes"] for entry in files)
    if unchanged and (folder / "_manifest.json").read_text() == before:
        break
else:
    raise SystemExit("the folder was replaced five times while it was read")
rows = sum(table.num_rows for table in tables)
assert rows == sum(entry["rows"] for entry in files)
print(f"{rows} signals in {len(files)} files of one set")
