"""pandas over the exported Parquet: signals by month and type. Usage: python pandas_parquet.py <data directory>"""
import sys

import pandas as pd

# The month comes from the folders' names (year_month=2025-01); a list of columns must name it.
signals = pd.read_parquet(f"{sys.argv[1]}/export/signals", columns=["id", "type", "date", "year_month"])
by_month = signals.groupby(["year_month", "type"], observed=True).size()
print(by_month.tail(5))
assert signals["id"].is_unique and str(signals["date"].dtype).endswith("UTC]")
assert by_month.index.nlevels == 2 and by_month.index.get_level_values("year_month").nunique() > 1
