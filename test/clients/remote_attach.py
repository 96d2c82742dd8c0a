"""Attaches the mirror by its address through a port that counts, and asks one question. Prints requests, bytes and times."""
import json
import os
import socket
import sys
import threading
import time
from urllib.parse import urlparse

import duckdb

server, key = urlparse(sys.argv[1]), os.environ["DUCKMIRROR_KEY"]
counted = {"requests": 0, "bytes": 0}


def copy(source, target, count):
    while block := source.recv(1 << 16):
        count(block)
        target.sendall(block)
    target.close()


def sent(block):
    counted["requests"] += block.count(b" HTTP/1.1\r\n")


def got(block):
    counted["bytes"] += len(block)


def listen(port):
    while True:
        one = port.accept()[0]
        other = socket.create_connection((server.hostname, server.port))
        threading.Thread(target=copy, args=(one, other, sent), daemon=True).start()
        threading.Thread(target=copy, args=(other, one, got), daemon=True).start()


port = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=listen, args=(port,), daemon=True).start()
url = f"http://127.0.0.1:{port.getsockname()[1]}"
con = duckdb.connect()
con.execute("LOAD httpfs")
con.execute(f"CREATE SECRET (TYPE http, BEARER_TOKEN '{key}', SCOPE '{url}/')")
start = time.monotonic()
con.execute(f"ATTACH '{url}/warehouse.duckdb' AS mirror (READ_ONLY)")
attached = time.monotonic()
rows = con.execute("SELECT count(*) FROM mirror.marts.account_360").fetchone()[0]
asked = time.monotonic()
times = {"attach_ms": round((attached - start) * 1000), "first_ms": round((asked - attached) * 1000)}
print(json.dumps({**counted, **times, "rows": rows}))
