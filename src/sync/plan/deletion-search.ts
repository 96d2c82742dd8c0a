// Adds to a planned read of changes the cost that follows if the mirror holds more rows than the service counts: a search for the deleted
// rows, or a walk. Sends nothing.

import { type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import { isScopedTable, type ScopedTable } from "../../catalog/tables.ts";
import { counted } from "../../core/text/units.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import { isWorthCounting, priceOfCounting } from "../list/parts/counting-price.ts";
import { type CountingMemory, countingMemory, countingName, isUsable } from "../list/parts/filter-memory.ts";
import { endsAtWindow } from "../list/search-window.ts";
import { acceptedGap } from "../list/state.ts";
import { isScoped } from "../rows/row-scope.ts";
import { type Candidate, type Context, expectedPageSize, stateKey, walkPages } from "./candidate.ts";

/** Rows that the mirror held beyond the service's count when the list was last read; 0: none, or nothing is known. */
const leftOver = async (warehouse: MirrorReader, { view, options }: Context, name: ScopedTable): Promise<number> => {
  const state = view.states.get(stateKey(name, ""));
  if (state?.status !== "idle" || state.totalCount === null || (acceptedGap(state) ?? 0) !== 0) return 0;
  // A list that ends at a search window is not searched; one with a scope counts other rows.
  if (endsAtWindow(options.shapes.get(name)?.window ?? null, view.now) || isScoped(options.rowScope, name)) return 0;
  return Math.max(0, (await warehouse.countRows(name)) - state.totalCount);
};

/** Credits of the search that the next reading of changes begins; null: it walks the list. */
const searchPrice = async (
  warehouse: MirrorReader,
  context: Context,
  { name, parts = [] }: Pick<StreamSpec, "parts"> & { readonly name: ScopedTable },
  { memory, gone }: { readonly memory: CountingMemory; readonly gone: number },
): Promise<number | null> => {
  const { rows: pageSize } = expectedPageSize(context, name);
  if (context.options.shapes.get(name)?.sort === false) return null;
  for (const part of parts.filter(({ before }) => isUsable(memory, before, context.view.now))) {
    const days = await warehouse.rowsPerDay({ table: name, field: part.field });
    // A field that is not mirrored dates no row.
    if (days.length === 0) continue;
    const facts = { days, rows: await warehouse.countRows(name), pageSize };
    if (isWorthCounting(facts, gone)) return priceOfCounting(facts, gone);
  }
  return null;
};

/** The candidate with the search, or the walk, that its counts announce. */
export const withDeletionSearch = async (
  warehouse: MirrorReader,
  context: Context,
  candidate: Candidate,
  capabilities: ReadonlyMap<string, string>,
): Promise<Candidate> => {
  const { stream, mode, scope } = candidate;
  if ((mode !== "watermark" && mode !== "filter") || scope !== "" || !isScopedTable(stream)) return candidate;
  const memory = countingMemory(capabilities.get(countingName(stream)));
  const gone = memory.open?.gone ?? (await leftOver(warehouse, context, stream));
  if (gone === 0) return candidate;
  const spec = streamSpec(stream);
  const search = { memory, gone };
  const credits = memory.open?.credits ?? (await searchPrice(warehouse, context, { ...spec, name: stream }, search));
  const less = `${counted(gone, "row")} less than mirrored`;
  if (credits !== null) {
    const because = `${less}: about ${counted(credits, "credit")} to find`;
    return { ...candidate, because, requests: (candidate.requests ?? 1) + credits };
  }
  const pages = walkPages(context, spec, context.view.states.get(stateKey(stream, ""))?.totalCount ?? null);
  return { ...candidate, because: `${less}: the list is read`, requests: (candidate.requests ?? 1) + (pages ?? 1) };
};
