// Stores in the table sync.capabilities what a run learned, and reads it for later runs: the form that each list accepts, unusable
// responses, the access tier; also the configured streams and the setting `scope` that lists were read with.
import { STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { SCOPED_TABLES, type ScopedTable } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import type { Checked } from "../../core/state/last-check.ts";
import { isProven, type KnownTier } from "../../core/state/tier.ts";
import { type Unusable, unusablesSchema } from "../../core/state/unusable-responses.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import { type ListForm, listFormSchema } from "../list/form.ts";
import { filtersOf, scopeText } from "../rows/row-scope.ts";
import { type DueOptions, dueAge } from "./candidate.ts";
import { usageScopes } from "./usage-scopes.ts";

const shapeName = (stream: StreamName) => `shape.${stream}`;

/** Content that was forbidden in an earlier run may be allowed by now. */
const withContentAgain = (shape: ListForm): ListForm =>
  shape.contentForbidden ? { ...shape, content: true, contentForbidden: false } : shape;

/** The forms in which the last sync read the lists of each stream. */
export const storedFormsIn = (capabilities: ReadonlyMap<string, string>): Map<StreamName, ListForm> => {
  const shapes = new Map<StreamName, ListForm>();
  for (const stream of STREAM_NAMES) {
    const text = capabilities.get(shapeName(stream));
    if (text === undefined) continue;
    const parsed = listFormSchema.safeParse(JSON.parse(text));
    if (parsed.success) shapes.set(stream, parsed.data);
  }
  return shapes;
};

/** The forms in which the next sync reads them. */
export const formsIn = (capabilities: ReadonlyMap<string, string>): Map<StreamName, ListForm> =>
  new Map([...storedFormsIn(capabilities)].map(([stream, shape]) => [stream, withContentAgain(shape)]));

export const storeForm = (warehouse: Warehouse, stream: StreamName, shape: ListForm, now: number): Promise<void> =>
  warehouse.setCapability(shapeName(stream), JSON.stringify(shape), now);

const UNUSABLE = "unusable";

/** Lists and records whose answers earlier runs paid for and could not use. */
export const unusableIn = (capabilities: ReadonlyMap<string, string>): readonly Unusable[] => {
  const { success, data } = unusablesSchema.safeParse(JSON.parse(capabilities.get(UNUSABLE) ?? "[]"));
  return success ? data : [];
};

export const storeUnusable = async (
  warehouse: Warehouse,
  unusable: readonly Unusable[],
  now: number,
): Promise<void> => {
  const value = JSON.stringify(unusable);
  const known = (await warehouse.capabilities()).get(UNUSABLE) ?? "[]";
  if (known !== value) await warehouse.setCapability(UNUSABLE, value, now);
};

/** Stores the organization's tier for readers of the snapshot. */
export const storeTier = async (warehouse: Warehouse, tier: KnownTier | null, now: number): Promise<void> => {
  if (tier === null) return;
  const { tier: name, since, evidence } = tier;
  const value = JSON.stringify({ tier: name, since: new Date(since).toISOString(), evidence, proven: isProven(tier) });
  if ((await warehouse.capabilities()).get("tier") !== value) await warehouse.setCapability("tier", value, now);
};

/**
 * Stores the configured streams and inputs. Readers of the snapshot need them to judge its age and completeness
 * (marts.freshness). The origin of an input does not matter. `limit`: credits of the period, null: not known.
 */
export const storeConfigured = async (
  warehouse: Warehouse,
  options: Pick<DueOptions, "companies" | "maxAgeMs" | "usage"> & { readonly configured: readonly StreamName[] },
  limit: number | null,
  now: number,
): Promise<void> => {
  const { companies, configured, maxAgeMs } = options;
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

export const storeScope = (warehouse: Warehouse, rowScope: RowScope, table: ScopedTable, now: number): Promise<void> =>
  warehouse.setCapability(scopeName(table), scopeText(rowScope, table), now);

/**
 * Stream → rows of its list that `check` counted, of lists that were counted with the filters that the setting `scope` has now;
 * and stream → rows that a page of its list may have.
 */
export const countsFromCheck = ({ lists, credits }: Checked, scope: RowScope) => {
  const isOther = (stream: string, counted: string | null) =>
    SCOPED_TABLES.some((table) => {
      const wanted = filtersOf(scope, table);
      return table === stream && counted !== (wanted === null ? null : JSON.stringify(wanted));
    });
  const all = Object.entries(lists);
  const totals = new Map(
    all.flatMap(([stream, { total, filters }]) => (isOther(stream, filters) ? [] : [[stream, total] as const])),
  );
  // Each credit used is an entry of the request history; how many refusals it holds is not known.
  if (credits !== null && credits.used !== null) totals.set("usage", credits.used);
  const pageSizes = new Map(all.flatMap(([stream, { page }]) => (page === null ? [] : [[stream, page] as const])));
  return { totals, pageSizes };
};
