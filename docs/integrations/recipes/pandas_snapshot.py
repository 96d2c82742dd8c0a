"""pandas over the published snapshot. Usage: python pandas_snapshot.py <data directory>"""
import sys

import duckdb

with duckdb.connect(f"{sys.argv[1]}/warehouse.duckdb", read_only=True) as mirror:
    mirror.execute("SET TimeZone = 'UTC'")
    accounts = mirror.sql("SELECT account_name, main_score, signals_30_days FROM marts.account_360").df()
print(accounts.sort_values("main_score", ascending=False).head(5).to_string(index=False))
assert len(accounts) > 0
