// Converts the response for one page of a list to a `PageRead`, which the ways of reading (ways/) accept: ids, change dates, count, and
// whether more rows follow. Pure.
import type { PageMeta } from "../../api/outcome.ts";
import { forgottenHash, forgottenId } from "../../core/forgotten.ts";
import type { JsonValue } from "../../core/json.ts";
import { idOf, timeOf } from "../rows/loads.ts";
import { countOf } from "./coverage/list-end.ts";
import { startOf } from "./coverage/page-geometry.ts";
import type { PageRead, ReadRequest } from "./coverage/read-types.ts";
import type { Live } from "./state.ts";

/** Whether `totalPages`, or a page that is full by the granted `perPage`, says that more rows follow. */
const saysMore = (request: ReadRequest, rows: number, { page, perPage, totalPages }: PageMeta): boolean => {
  const counts = totalPages !== null && (page ?? request.page) === request.page && totalPages > request.page;
  return rows > 0 && (counts || (perPage !== null && perPage < request.perPage && rows >= perPage));
};

/**
 * A page of a list in the form of the ways to read. `granted`: rows of the largest page of the stream that the service
 * returned before, in this run.
 */
export const pageReadOf = (
  { stream, before, rows }: Pick<Live, "stream" | "before" | "rows">,
  request: ReadRequest,
  data: JsonValue,
  meta: PageMeta,
  granted = 0,
): PageRead => {
  const records: readonly JsonValue[] = Array.isArray(data) ? data : [];
  const ids: string[] = [];
  const values: (number | null)[] = [];
  for (const record of records) {
    const forgotten = forgottenHash(record);
    const id = forgotten === null ? idOf(record) : forgottenId(forgotten);
    if (id != null) ids.push(id);
    // An erased contact occupies a place in the list, but has no date that could show the list's order.
    if (forgotten === null && stream.watermark !== undefined) values.push(timeOf(record, stream.watermark));
  }
  return {
    ...request,
    ids,
    rows: records.length,
    values,
    total: countOf(meta.totalCount, records.length, {
      end: startOf(request) + records.length,
      uncounted: before?.totalCount === null ? rows : 0,
    }),
    ...(saysMore(request, records.length, meta) ? { more: true } : {}),
    ...(granted > 0 ? { granted } : {}),
  };
};

/** The page that a service refused, probably because no row is there. */
export const pageBeyondEnd = (request: ReadRequest): PageRead => ({
  ...request,
  ids: [],
  rows: 0,
  values: [],
  total: null,
  refused: true,
});
