"""Materializes the assets of docs/integrations/orchestrators/dagster_assets.py once; prints what Dagster noted, as JSON."""
import json
import runpy
import sys

import dagster as dg

recipe = runpy.run_path(sys.argv[1])
result = dg.materialize([recipe["mirror"]], resources={"pipes": dg.PipesSubprocessClient()}, raise_on_error=False)
materialized = {
    event.asset_key.to_user_string(): {name: value.value for name, value in event.materialization.metadata.items()}
    for event in result.get_asset_materialization_events()
}
checks = {
    f"{one.asset_key.to_user_string()}:{one.check_name}": one.passed for one in result.get_asset_check_evaluations()
}
print(json.dumps({"success": result.success, "materialized": materialized, "checks": checks}, default=str))
