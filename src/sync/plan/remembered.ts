// Facts that a run stores in the mirror for later runs and readers: what each list accepts, which streams are configured,
// the tier, and the scope that lists were read with.
import { z } from "zod";
import { STREAM_NAMES, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { SCOPED_TABLES, type ScopedTable } from "../../catalog/tables.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { isProven, type KnownTier } from "../../core/state/tier.ts";
import { type Unusable, unusablesSchema } from "../../core/state/unusable-answers.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { type ListShape, listShapeSchema } from "../list/form.ts";
import type { Widening } from "../list/order.ts";
import { addedScope } from "../rows/accepted-gap.ts";
import { scopeText } from "../rows/row-scope.ts";
import { type DueOptions, dueAge, walkAge } from "./candidate.ts";
import { unreadContent } from "./organization.ts";
import { usageScopes } from "./usage-scopes.ts";

const shapeName = (stream: StreamName) => `shape.${stream}`;

/** Content that was forbidden in an earlier run may be allowed by now. */
const withContentAgain = (shape: ListShape): ListShape =>
  shape.contentForbidden ? { ...shape, content: true, contentForbidden: false } : shape;

/** Shapes of lists learned by earlier runs. */
export const shapesIn = (capabilities: ReadonlyMap<string, string>): Map<StreamName, ListShape> => {
  const shapes = new Map<StreamName, ListShape>();
  for (const stream of STREAM_NAMES) {
    const text = capabilities.get(shapeName(stream));
    if (text === undefined) continue;
    const parsed = listShapeSchema.safeParse(JSON.parse(text));
    if (parsed.success) shapes.set(stream, withContentAgain(parsed.data));
  }
  return shapes;
};

export const readShapes = async (warehouse: MirrorReader): Promise<Map<StreamName, ListShape>> =>
  shapesIn(await warehouse.capabilities());

/** Stores the shape that this run learned for a list. */
export const rememberShape = (warehouse: Warehouse, stream: StreamName, shape: ListShape, now: number): Promise<void> =>
  warehouse.setCapability(shapeName(stream), JSON.stringify(shape), now);

const UNUSABLE = "unusable";

/** Lists and records whose answers earlier runs paid for and could not use. */
export const unusableIn = (capabilities: ReadonlyMap<string, string>): readonly Unusable[] => {
  const { success, data } = unusablesSchema.safeParse(JSON.parse(capabilities.get(UNUSABLE) ?? "[]"));
  return success ? data : [];
};

/** Stores them for later runs. */
export const rememberUnusable = async (
  warehouse: Warehouse,
  unusable: readonly Unusable[],
  now: number,
): Promise<void> => {
  const value = JSON.stringify(unusable);
  const known = (await warehouse.capabilities()).get(UNUSABLE) ?? "[]";
  if (known !== value) await warehouse.setCapability(UNUSABLE, value, now);
};

/** Stores the organization's tier for readers of the snapshot. */
export const rememberTier = async (warehouse: Warehouse, tier: KnownTier | null, now: number): Promise<void> => {
  if (tier === null) return;
  const { tier: name, since, evidence } = tier;
  const value = JSON.stringify({ tier: name, since: new Date(since).toISOString(), evidence, proven: isProven(tier) });
  if ((await warehouse.capabilities()).get("tier") !== value) await warehouse.setCapability("tier", value, now);
};

/**
 * Stores the configured streams and inputs. Readers of the snapshot need them to judge its age and completeness
 * (marts.freshness). The origin of an input does not matter. `limit`: credits of the period, null: not known.
 */
export const rememberWanted = async (
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

/**
 * Stored while a list that is complete for one scope is being read for a wider one. Unlike every scope, so no scope
 * equals it.
 */
const underWay = z.object({ complete_for: z.unknown(), widens_to: z.unknown() });

/** The scope that a list is complete for, and the wider one that it is being read for, as texts; null: none. */
const storedScope = (
  capabilities: ReadonlyMap<string, string>,
  table: ScopedTable,
): { readonly earlier: string; readonly to: string | null } => {
  const text = capabilities.get(scopeName(table)) ?? "{}";
  const { success, data } = underWay.safeParse(JSON.parse(text));
  if (!success) return { earlier: text, to: null };
  return { earlier: JSON.stringify(data.complete_for), to: JSON.stringify(data.widens_to) };
};

type WideningOptions = Omit<DueOptions, "access"> & { readonly reset: readonly { readonly stream: StreamName }[] };

/** True when the list is complete, as its counts show, and what was read since then counts for the wider scope. `to`: that of an earlier run. */
const isCompleteFor = (to: string | null, wanted: string, before: ScopeState): boolean => {
  const { status, totalCount, rowsAtWalk, unconfirmed, watermark } = before;
  const isRead = to === null ? status === "idle" : status !== "failed" && to === wanted;
  return isRead && watermark !== null && unconfirmed === null && totalCount !== null && totalCount === rowsAtWalk;
};

/** True when the service filters and sorts the list, no walk of it is due, and it has more than one page: that is read whole for as much. */
const isWorthWidening = (
  table: ScopedTable,
  { totalCount, walkedAt }: ScopeState,
  options: WideningOptions,
  now: number,
): boolean => {
  const shape = options.shapes.get(table);
  if (shape === undefined || !shape.filters || !shape.changeOrder || (totalCount ?? 0) <= shape.perPage) return false;
  const isDue = walkedAt === null || now - walkedAt > walkAge({ options }, options.reconcileEveryMs) || options.full;
  const isReset = options.reset.some(({ stream }) => stream === table);
  return !isDue && !isReset && !unreadContent({ options }, streamSpec(table));
};

/** Lists whose scope only adds values to the one that they are complete for, if what is missing can be read alone. */
export const wideningLists = (
  { capabilities, states }: { capabilities: ReadonlyMap<string, string>; states: readonly ScopeState[] },
  options: WideningOptions,
  now: number,
): Map<ScopedTable, Widening> => {
  const found = new Map<ScopedTable, Widening>();
  const { rowScope } = options;
  for (const table of changedScopes(capabilities, rowScope)) {
    const { earlier, to } = storedScope(capabilities, table);
    const before = states.find(({ stream, scope }) => stream === table && scope === "");
    const added = addedScope(earlier, rowScope, table);
    if (before === undefined || added === null || !isCompleteFor(to, scopeText(rowScope, table), before)) continue;
    if (isWorthWidening(table, before, options, now)) found.set(table, { added, before });
  }
  return found;
};

/** Stores that the list is being read for the wider scope. What it is complete for stays known until that is done. */
export const rememberWidening = async (
  warehouse: Warehouse,
  rowScope: RowScope,
  table: ScopedTable,
  now: number,
): Promise<void> => {
  const { earlier } = storedScope(await warehouse.capabilities(), table);
  const value = { complete_for: JSON.parse(earlier), widens_to: JSON.parse(scopeText(rowScope, table)) };
  await warehouse.setCapability(scopeName(table), JSON.stringify(value), now);
};

/** Stores the scope that the list is read with from now on. */
export const rememberScope = (
  warehouse: Warehouse,
  rowScope: RowScope,
  table: ScopedTable,
  now: number,
): Promise<void> => warehouse.setCapability(scopeName(table), scopeText(rowScope, table), now);
