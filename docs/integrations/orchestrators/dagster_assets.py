"""Dagster: each table of the mirror is an asset with a check, filled by one `duckmirror sync` through Dagster Pipes."""
import dagster as dg

STREAMS = ["accounts", "contacts"]
# A stream may fill several tables: `duckmirror schema` names them. Each must be an asset here.
TABLES = ["accounts", "owners", "contacts"]
KEYS = [dg.AssetKey(["duckmirror", table]) for table in TABLES]


@dg.multi_asset(
    # Skippable: a sync whose checks fail reports no table as filled.
    specs=[dg.AssetSpec(key, skippable=True) for key in KEYS],
    check_specs=[dg.AssetCheckSpec("complete", asset=key) for key in KEYS],
)
def mirror(context: dg.AssetExecutionContext, pipes: dg.PipesSubprocessClient):
    command = ["duckmirror", "sync", *STREAMS, "--quiet", "--report", "dagster"]
    yield from pipes.run(context=context, command=command).get_results()


defs = dg.Definitions(assets=[mirror], resources={"pipes": dg.PipesSubprocessClient()})
