"""Measures what decides about a move to DuckDB 2 (docs/decisions/dependencies.md), with the clients of PyPI, each in processes of its own.

    for v in 1.2.2 1.4.5 1.5.6 2.0.1; do pip install --no-deps --target clients/$v duckdb==$v; done
    python3 bench/duckdb_2.py clients path/to/warehouse.duckdb [rows] [kills]

Prints one JSON object. `rows`: of the table that is changed; `kills`: during replays of a WAL, for each client and storage.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

OLD, NEW, READERS = "1.5.6", "2.0.1", ("1.2.2", "1.4.5", "1.5.6", "2.0.1")
# Client and storage of each case.
CASES = ((OLD, "v1.2.0"), (NEW, "v1.2.0"), (NEW, "v2.0.0"))

COMMON = """
import json, os, sys, time, duckdb
def attach(path, storage, more=""):
    con = duckdb.connect()
    con.execute("SET threads = 2")
    con.execute(f"ATTACH '{path}' AS m (STORAGE_VERSION '{storage}'{more})")
    con.execute("USE m")
    return con
def written():
    return int(next(l.split()[1] for l in open("/proc/self/io") if l.startswith("write_bytes")))
def step(con, sql):
    # Processor time of all threads: other work on the machine does not count.
    start, before = time.process_time(), written()
    for one in sql: con.execute(one)
    return {"cpu_ms": round((time.process_time() - start) * 1000), "mb": round((written() - before) / 1e6, 2)}
"""

# 20 transactions stay in the WAL: a killed process leaves it.
FILL_WAL = COMMON + """
path, storage = sys.argv[1:]
con = attach(path, storage)
con.execute("SET wal_autocheckpoint = '1TB'")
con.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, body VARCHAR)")
for n in range(20):
    con.execute(f"INSERT INTO t SELECT i, md5(i::VARCHAR) || md5((i * 7)::VARCHAR) FROM range({n * 20000}, {(n + 1) * 20000}) r(i)")
    con.execute(f"DELETE FROM t WHERE id % 1000 = {n}")
os.kill(os.getpid(), 9)
"""
OPEN = COMMON + """
path, storage = sys.argv[1:]
start = time.monotonic()
con = attach(path, storage)
print(json.dumps([con.execute("SELECT count(*), sum(hash(t))::VARCHAR FROM t").fetchone(), time.monotonic() - start]))
"""
CHANGE = COMMON + """
path, storage, rows = sys.argv[1:]
rows = int(rows)
con = attach(path, storage)
con.execute("SET wal_autocheckpoint = '1TB'")
con.execute(f'''CREATE TABLE signals AS SELECT i AS id, i % 997 AS account_id, md5(i::VARCHAR) || md5((i * 3)::VARCHAR) AS headline,
    repeat(md5((i * 7)::VARCHAR), 6) AS summary, TIMESTAMPTZ '2026-01-01' + INTERVAL (i) SECOND AS updated_at, i % 100 AS score
    FROM range({rows}) r(i)''')
con.execute("ALTER TABLE signals ADD PRIMARY KEY (id)")
con.execute("CHECKPOINT m")
found = {"file_mb": round(os.path.getsize(path) / 1e6, 1), "commit": [], "merge_into": [], "checkpoint": []}
for turn in range(5):
    con.execute(f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT * REPLACE (score + {turn} + 1 AS score) FROM signals WHERE id % {rows // 300} = {turn}")
    found["commit"].append(step(con, ["BEGIN", "DELETE FROM signals WHERE id IN (SELECT id FROM fresh)", "INSERT INTO signals FROM fresh", "COMMIT"]))
    found["checkpoint"].append(step(con, ["CHECKPOINT m"]))
    con.execute(f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT * REPLACE (score + {turn} + 2 AS score) FROM signals WHERE id % {rows // 300} = {turn + 50}")
    found["merge_into"].append(step(con, ["MERGE INTO signals USING fresh USING (id) WHEN MATCHED THEN UPDATE"]))
    found["checkpoint"].append(step(con, ["CHECKPOINT m"]))
con.close()
print(json.dumps(found))
"""
REWRITE = COMMON + """
source, target, storage = sys.argv[1:]
con = duckdb.connect()
con.execute("SET threads = 2")
con.execute(f"ATTACH '{source}' AS s (READ_ONLY)")
con.execute(f"ATTACH '{target}' AS d (STORAGE_VERSION '{storage}')")
print(json.dumps(step(con, ["COPY FROM DATABASE s TO d", "CHECKPOINT d", "DETACH d"])))
"""
TOUCH = COMMON + """
con = duckdb.connect(sys.argv[1])
con.execute("CREATE OR REPLACE TABLE main.touched AS SELECT 1 AS one")
con.execute("CHECKPOINT")
con.close()
print("{}")
"""
READ = COMMON + """
con = duckdb.connect(sys.argv[1], read_only=True)
names = con.execute("SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('main', 'history', 'sync', 'marts')").fetchall()
for schema, name in names:
    con.execute(f'SELECT count(hash(t)) FROM (FROM "{schema}"."{name}" LIMIT 5) AS t').fetchall()
print(json.dumps(len(names)))
"""


def run(clients, version, program, *args, kill_after=None):
    """What a program prints; None where it was killed. Throws its error."""
    env = {**os.environ, "PYTHONPATH": os.path.join(clients, version)}
    child = subprocess.Popen([sys.executable, "-c", program, *map(str, args)], env=env, stdout=-1, stderr=-1, text=True)
    try:
        out, err = child.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return None
    if child.returncode == -9:
        return None
    if child.returncode != 0:
        raise RuntimeError(err.strip().splitlines()[-1][:90])
    # DuckDB shows the progress of a long statement.
    return json.loads(out.strip().splitlines()[-1])


def attempt(work):
    try:
        return work()
    except RuntimeError as error:
        return f"no: {error}"


def replays(clients, folder, kills):
    """Whether a database is whole after `kill -9` at random moments of the replay of its WAL."""
    found = {}
    for version, storage in CASES:
        path = os.path.join(folder, "wal.duckdb")
        run(clients, version, FILL_WAL, path, storage)
        wal = os.path.getsize(path + ".wal")
        whole = os.path.join(folder, "whole.duckdb")
        for end in ("", ".wal"):
            shutil.copy(path + end, whole + end)
        start = time.monotonic()
        rows, replay_s = run(clients, version, OPEN, whole, storage)
        total = time.monotonic() - start
        killed = 0
        for _ in range(kills):
            # Starting Python takes the time before.
            after = total - replay_s + random.random() * replay_s
            killed += run(clients, version, OPEN, path, storage, kill_after=after) is None
        same = attempt(lambda: run(clients, version, OPEN, path, storage)[0] == rows)
        found[f"{version} {storage}"] = {"wal_mb": round(wal / 1e6, 1), "replay_s": round(replay_s, 2), "killed": killed, "whole": same}
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
    return found


def readable(clients, folder, snapshot):
    """Which clients read a snapshot, by who wrote it."""
    written = {"as published": snapshot}
    for name, storage in (("rewritten by 2.0.1 as v1.2.0", "v1.2.0"), ("rewritten by 2.0.1 as v2.0.0", "v2.0.0")):
        written[name] = os.path.join(folder, f"{storage}.duckdb")
        result = attempt(lambda: run(clients, NEW, REWRITE, snapshot, written[name], storage))
        if isinstance(result, str):
            written[name] = result
    touched = os.path.join(folder, "touched.duckdb")
    shutil.copy(snapshot, touched)
    written["changed in place by 2.0.1"] = touched
    run(clients, NEW, TOUCH, touched)
    return {
        name: path if path.startswith("no: ") else {v: attempt(lambda: run(clients, v, READ, path)) for v in READERS}
        for name, path in written.items()
    }


def median(values):
    return sorted(values)[len(values) // 2]


def costs(clients, folder, rows):
    found = {}
    for version, storage in CASES:
        path = os.path.join(folder, f"{version}-{storage}.duckdb")
        changed = run(clients, version, CHANGE, path, storage, rows)
        for name in ("commit", "merge_into", "checkpoint"):
            changed[name] = {unit: median([one[unit] for one in changed[name]]) for unit in ("cpu_ms", "mb")}
        target = os.path.join(folder, "published.duckdb")
        changed["rewrite_as_v1.2.0"] = run(clients, version, REWRITE, path, target, "v1.2.0")
        os.remove(target)
        start = time.monotonic()
        shutil.copy(path, target)
        changed["copy_ms"] = round((time.monotonic() - start) * 1000)
        os.remove(target)
        found[f"{version} {storage}"] = changed
    return found


def main():
    clients, snapshot, *more = sys.argv[1:]
    rows = more[0] if more else "300000"
    kills = more[1] if len(more) > 1 else "20"
    random.seed(1)
    found = {}
    for name, work in (
        ("replays", lambda folder: replays(clients, folder, int(kills))),
        ("readable", lambda folder: readable(clients, folder, os.path.abspath(snapshot))),
        ("costs", lambda folder: costs(clients, folder, int(rows))),
    ):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = work(folder)
    print(json.dumps(found, indent=1))


main()
