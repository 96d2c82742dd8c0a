"""Runs the DAG of docs/integrations/orchestrators/airflow_dag.py once in this process; prints its state and the task's result, as JSON."""
import json
import sys
from pathlib import Path

recipe = Path(sys.argv[1])
sys.path.insert(0, str(recipe.parent))
from airflow_dag import dag  # noqa: E402

run = dag.test()
[task] = run.get_task_instances()
print(json.dumps({"state": str(run.state), "task": str(task.state), "result": task.xcom_pull(task_ids="sync")}, default=str))
