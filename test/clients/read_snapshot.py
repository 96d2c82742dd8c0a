"""Reads every table and view of a snapshot to its last row; prints the counts, and dates that differ from the day sent."""
import json
import sys

import duckdb

mirror = duckdb.connect(sys.argv[1], read_only=True)
names = mirror.execute(
    "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
    " UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
).fetchall()
rows = {f"{schema}.{name}": len(mirror.execute(f'SELECT * FROM "{schema}"."{name}"').fetchall()) for schema, name in names}
shifted = mirror.execute(
    """SELECT CAST(marts.posted_on AS VARCHAR) FROM marts.job_timeline AS marts
    JOIN main.job_openings AS main ON main.company_id = marts.company_id AND main.id = marts.job_opening_id
    WHERE strftime(main.posted_on AT TIME ZONE 'UTC', '%Y-%m-%d') <> CAST(marts.posted_on AS VARCHAR)"""
).fetchall()
print(json.dumps({"version": duckdb.__version__, "rows": rows, "shifted": shifted}))
