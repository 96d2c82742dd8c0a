"""pandas and pyarrow over the exported Parquet. Usage: python pandas_parquet.py <data directory>"""
import sys

import pandas as pd

signals = pd.read_parquet(f"{sys.argv[1]}/export/signals", columns=["id", "type", "date"])
by_month = signals.groupby(["year_month", "type"], observed=True).size() if "year_month" in signals else signals.groupby("type").size()
print(by_month.tail(5))
assert signals["id"].is_unique and str(signals["date"].dtype).endswith("UTC]")
