"""polars over the exported Parquet, reading only the months it needs. Usage: python polars_parquet.py <data directory>"""
import sys

import polars as pl

signals = pl.scan_parquet(f"{sys.argv[1]}/export/signals/**/*.parquet", hive_partitioning=True)
latest = signals.group_by("year_month", "type").len().sort("year_month", "len", descending=True).head(5).collect()
print(latest)
insights = pl.read_parquet(f"{sys.argv[1]}/export/marts.insight_items/*.parquet")
assert latest.height == 5 and insights.height > 0
