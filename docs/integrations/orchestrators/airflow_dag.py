"""Airflow: asks a duckmirror worker for a sync, and waits for its end without occupying a worker of Airflow."""
import asyncio
import json
import os
import urllib.error
import urllib.request
from datetime import datetime

from airflow.sdk import DAG, BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent


def ask(method, path, body=None, headers=None):
    """Calls the worker at DUCKMIRROR_URL with the key in DUCKMIRROR_KEY (role operate)."""
    request = urllib.request.Request(
        os.environ["DUCKMIRROR_URL"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['DUCKMIRROR_KEY']}",
            "Content-Type": "application/json",
            **(headers or {}),
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


class SyncEnds(BaseTrigger):
    """Looks every few seconds whether the sync has ended."""

    def __init__(self, run_id, every_seconds=5):
        super().__init__()
        self.run_id = run_id
        self.every_seconds = every_seconds

    def serialize(self):
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return name, {"run_id": self.run_id, "every_seconds": self.every_seconds}

    async def run(self):
        while True:
            found = await asyncio.to_thread(ask, "GET", f"/api/syncs/{self.run_id}")
            if found["state"] not in ("queued", "running"):
                yield TriggerEvent(found)
                return
            await asyncio.sleep(self.every_seconds)


class DuckmirrorSync(BaseOperator):
    """Its result is the report of the sync: rows, credits and completeness of every stream."""

    def __init__(self, streams, **more):
        super().__init__(**more)
        self.streams = streams

    def execute(self, context):
        # A request that is repeated starts no second sync; a retry of the task asks anew, and joins a sync that still runs.
        key = f"{context['dag'].dag_id} {context['run_id']} {context['ti'].try_number}"
        started = ask("POST", "/api/syncs", {"streams": self.streams}, {"Idempotency-Key": key})
        self.defer(trigger=SyncEnds(started["run_id"]), method_name="ended")

    def ended(self, context, event):
        # stopped: the allowance ended it, and the next one goes on.
        if event["state"] not in ("done", "stopped"):
            error = event["error"] or {"code": event["state"], "message": "the sync did not end"}
            raise RuntimeError(f"{error['code']}: {error['message']}")
        return event["report"]


with DAG("duckmirror", start_date=datetime(2026, 1, 1), schedule="*/15 * * * *", catchup=False, max_active_runs=1) as dag:
    DuckmirrorSync(task_id="sync", streams=["accounts", "contacts"])
