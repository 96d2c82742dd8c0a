"""Opens every folder of an export with pandas, pyarrow and polars; prints the rows each found, and columns that are bytes."""
import json
import pathlib
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

found = {}
for folder in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
    dataset = ds.dataset(folder, partitioning="hive")
    lazy = pl.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
    schema = lazy.collect_schema()
    found[folder.name] = {
        "pandas": len(pd.read_parquet(folder)),
        "pyarrow": dataset.to_table().num_rows,
        "polars": lazy.select(pl.len()).collect().item(),
        "bytes": sorted(
            {name for name, kind in schema.items() if kind == pl.Binary}
            | {field.name for field in dataset.schema if pa.types.is_binary(field.type)}
        ),
    }
print(json.dumps(found))
