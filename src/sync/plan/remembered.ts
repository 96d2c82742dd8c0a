// Facts that a run stores in the mirror for later runs and readers: what each list accepts, which streams are configured,
// the tier, and the scope that lists were read with.
import { STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { SCOPED_TABLES, type ScopedTable } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import type { KnownTier } from "../../core/state/tier.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import { type ListShape, listShapeSchema } from "../request/list-shape.ts";
import { scopeText } from "../rows/row-scope.ts";
import { type DueOptions, dueAge } from "./candidate.ts";
import { readLastQuota } from "./mirror-view.ts";
import { usageScopes } from "./usage-scopes.ts";

const shapeName = (stream: StreamName) => `shape.${stream}`;

/** Shapes of lists learned by earlier runs. */
export const readShapes = async (warehouse: MirrorReader): Promise<Map<StreamName, ListShape>> => {
  const known = await warehouse.capabilities();
  const shapes = new Map<StreamName, ListShape>();
  for (const stream of STREAM_NAMES) {
    const text = known.get(shapeName(stream));
    if (text === undefined) continue;
    const parsed = listShapeSchema.safeParse(JSON.parse(text));
    if (parsed.success) shapes.set(stream, parsed.data);
  }
  return shapes;
};

/** Stores the shape that this run learned for a list. */
export const rememberShape = (warehouse: Warehouse, stream: StreamName, shape: ListShape, now: number): Promise<void> =>
  warehouse.setCapability(shapeName(stream), JSON.stringify(shape), now);

/** Stores the organization's tier for readers of the snapshot. */
export const rememberTier = async (warehouse: Warehouse, tier: KnownTier | null, now: number): Promise<void> => {
  if (tier === null) return;
  const { tier: name, since, evidence } = tier;
  const value = JSON.stringify({ tier: name, since: new Date(since).toISOString(), evidence });
  if ((await warehouse.capabilities()).get("tier") !== value) await warehouse.setCapability("tier", value, now);
};

/**
 * Stores the configured streams and inputs. Readers of the snapshot need them to judge its age and completeness
 * (marts.freshness). The origin of an input does not matter.
 */
export const rememberWanted = async (
  warehouse: Warehouse,
  options: Pick<DueOptions, "companies" | "maxAgeMs" | "usage"> & { readonly configured: readonly StreamName[] },
  now: number,
): Promise<void> => {
  const { companies, configured, maxAgeMs } = options;
  const limit = (await readLastQuota(warehouse.database))?.limit ?? null;
  const ages = configured.map((name) => [name, dueAge(streamSpec(name), maxAgeMs, limit)]);
  const wanted = JSON.stringify({
    inputs: [...companies].sort(),
    max_age_ms: Object.fromEntries(ages),
    usage: usageScopes(options),
  });
  if ((await warehouse.capabilities()).get("wanted") !== wanted) await warehouse.setCapability("wanted", wanted, now);
};

const scopeName = (table: ScopedTable) => `scope.${table}`;

/** Lists whose scope differs from the one that they were last read with. */
export const changedScopes = (capabilities: ReadonlyMap<string, string>, rowScope: RowScope): readonly ScopedTable[] =>
  SCOPED_TABLES.filter((table) => (capabilities.get(scopeName(table)) ?? "{}") !== scopeText(rowScope, table));

/** Stores the scope that the list is read with from now on. */
export const rememberScope = (
  warehouse: Warehouse,
  rowScope: RowScope,
  table: ScopedTable,
  now: number,
): Promise<void> => warehouse.setCapability(scopeName(table), scopeText(rowScope, table), now);
