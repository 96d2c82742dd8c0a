"""A mirror's snapshot in DuckDB, to compare what other programs read with it."""

import duckdb


class Mirror:
    def __init__(self, snapshot, db=None):
        self.db = db or duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute(f"ATTACH '{snapshot}' AS mirror (READ_ONLY)")

    def close(self):
        self.db.execute("DETACH mirror")

    def columns(self, table):
        return self.db.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'mirror'"
            " AND schema_name = 'main' AND table_name = ? ORDER BY column_index",
            [table],
        ).fetchall()

    def tables(self):
        found = self.db.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'mirror' AND schema_name = 'main' ORDER BY 1"
        )
        return [name for (name,) in found.fetchall()]

    def count(self, query):
        return self.db.execute(f"SELECT count(*) FROM ({query})").fetchone()[0]

    def compare(self, table, other):
        """Rows of the mirror's table and of the relation `other`: how many there are, and how many only one of them has."""
        columns = self.columns(table)
        as_text = lambda name, kind: f'CAST("{name}" AS VARCHAR) AS "{name}"' if kind == "JSON" else f'"{name}"'
        wanted = ", ".join(as_text(name, kind) for name, kind in columns)
        mirror = f"SELECT {wanted} FROM mirror.main.{table}"
        if other is None:
            return {"rows": 0, "missing": self.count(mirror), "extra": 0}
        delivered = f"SELECT {wanted} FROM {other}"
        return {
            "rows": self.count(delivered),
            "missing": self.count(f"{mirror} EXCEPT ALL {delivered}"),
            "extra": self.count(f"{delivered} EXCEPT ALL {mirror}"),
        }
