"""Reads every table and view of a snapshot to its last row, and runs the queries of a folder; prints the counts, dates that
differ from the day sent, and queries that failed."""
import json
import sys
from pathlib import Path

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
failed = {}
for file in sorted(Path(sys.argv[2]).glob("*.sql")):
    try:
        mirror.execute(file.read_text()).fetchall()
    except duckdb.Error as error:
        failed[file.name] = str(error)
print(json.dumps({"version": duckdb.__version__, "rows": rows, "shifted": shifted, "failed": failed}))
