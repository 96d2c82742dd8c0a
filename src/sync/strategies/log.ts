// Strategy log: reads an append-only list (the service's request history) from its newest end to the first known id.
// Pure. Never deletes: the mirror keeps entries that the service drops.
import type { MirrorFacts, PageRead, ReadRequest, Step } from "./contract.ts";
import { isDescending, isShort } from "./coverage.ts";

export interface LogState {
  readonly kind: "log";
  readonly size: number;
  readonly total: number | null;
  /** End of the list with new entries: first or last pages; null before the first page. */
  readonly newestOn: "first" | "last" | null;
  /** Next page to read. */
  readonly page: number;
  readonly ended: boolean;
  /** This list was never read completely, so a known entry does not prove that older ones are known. */
  readonly first: boolean;
  /**
   * Ids of the latest page, and how many of them were on the previous page: reading itself adds entries and shifts
   * pages.
   */
  readonly latest: readonly string[];
  readonly repeated: number;
  /** Entries before this are not wanted, ms since the epoch; null: all. */
  readonly since: number | null;
}

export const startLog = (options: { size: number; first: boolean; since?: number | undefined }): LogState => ({
  kind: "log",
  size: options.size,
  first: options.first,
  total: null,
  newestOn: null,
  page: 1,
  ended: false,
  latest: [],
  repeated: 0,
  since: options.since ?? null,
});

export const acceptLog = (before: LogState, read: PageRead): LogState => {
  const latest = new Set(before.latest);
  const state = { ...before, latest: read.ids, repeated: read.ids.filter((id) => latest.has(id)).length };
  const total = read.total ?? state.total;
  // Only a short first page shows a silently reduced page size; a later short page is the last.
  const more = total === null ? !isShort(read) : total > read.rows;
  const clamped = read.page === 1 && read.rows > 0 && read.rows < read.perPage && more;
  const size = clamped ? read.rows : state.size;
  const lastPage = total === null ? null : Math.max(1, Math.ceil(total / size));
  if (state.newestOn === null) {
    const newestOn = read.ids.length < 2 || isDescending(read.ids) ? "first" : "last";
    const single = lastPage === null ? !more : lastPage <= 1;
    const page = newestOn === "first" ? 2 : (lastPage ?? 2);
    return { ...state, size, total, newestOn, page, ended: single };
  }
  const forward = state.newestOn === "first";
  const ended = forward ? read.rows === 0 || (lastPage !== null && read.page >= lastPage) : read.page <= 2;
  return { ...state, size, total, page: forward ? read.page + 1 : read.page - 1, ended };
};

export const nextLog = (state: LogState, facts: MirrorFacts, inFlight: readonly ReadRequest[]): Step => {
  if (inFlight.length > 0) return { kind: "wait" };
  const reachedKnown =
    !state.first &&
    facts.last !== null &&
    facts.last.unchanged + facts.last.updated > state.repeated &&
    (state.newestOn === "first" || state.page < Math.ceil((state.total ?? 0) / state.size));
  if (state.ended || (state.newestOn !== null && reachedKnown)) {
    return { kind: "done", addsUp: false, whole: state.ended, because: "read to the first known entry" };
  }
  return { kind: "read", reads: [{ page: state.page, perPage: state.size, role: "cover" }] };
};
