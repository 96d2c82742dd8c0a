// Way of reading `log`, for an append-only list (the service's request history): from its newest entry to the first known id; the first
// time to its other end. Never deletes: the mirror keeps entries that the service drops. Pure.
import { z } from "zod";
import { isDescending } from "../coverage/coverage.ts";
import { provesEnd } from "../coverage/list-end.ts";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/read-types.ts";

export const logSchema = z
  .object({
    kind: z.literal("log"),
    size: z.number(),
    total: z.number().nullable(),
    /** End of the list with new entries: first or last pages; null before the first page. */
    newestOn: z.enum(["first", "last"]).nullable(),
    /** Next page to read. */
    page: z.number(),
    ended: z.boolean(),
    /** This list was never read completely, so a known entry does not prove that older ones are known. */
    first: z.boolean(),
    /**
     * Ids of the latest page, and how many of them were on the previous page: reading itself adds entries and shifts
     * pages.
     */
    latest: z.array(z.string()).readonly(),
    repeated: z.number(),
    /** Entries before this are not wanted, ms since the epoch; null: all. */
    since: z.number().nullable(),
    /** Rows of the largest page that the service has returned. */
    granted: z.number(),
  })
  .readonly();
export type LogState = z.infer<typeof logSchema>;

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
  granted: 0,
});

/** Where the log goes on after its first page, which shows the end with new entries. */
const afterFirstPage = (state: LogState, ids: readonly string[], lastPage: number | null, isEnd: boolean): LogState => {
  const newestOn = ids.length < 2 || isDescending(ids) ? "first" : "last";
  // Without a count nobody knows the last page, so the list is read forward, wherever its new entries are.
  const page = newestOn === "first" ? 2 : (lastPage ?? 2);
  return { ...state, newestOn, page, ended: lastPage === null ? isEnd : lastPage <= 1 };
};

export const acceptLog = (before: LogState, read: PageRead): LogState => {
  const latest = new Set(before.latest);
  const total = read.total ?? before.total;
  const granted = Math.max(before.granted, read.granted ?? 0);
  const isEnd = total === null ? provesEnd(read, granted) : total <= read.rows;
  // Only a short first page shows a silently reduced page size; a later short page is the last.
  const clamped = read.page === 1 && read.rows > 0 && read.rows < read.perPage && !isEnd;
  const size = clamped ? read.rows : before.size;
  const state = {
    ...before,
    size,
    total,
    granted: Math.max(granted, read.rows),
    latest: read.ids,
    repeated: read.ids.filter((id) => latest.has(id)).length,
  };
  const lastPage = total === null ? null : Math.max(1, Math.ceil(total / size));
  if (state.newestOn === null) return afterFirstPage(state, read.ids, lastPage, isEnd);
  if (state.newestOn === "last" && lastPage !== null) return { ...state, page: read.page - 1, ended: read.page <= 2 };
  const ended = lastPage === null ? isEnd : read.rows === 0 || read.page >= lastPage;
  return { ...state, page: read.page + 1, ended };
};

export const nextLog = (state: LogState, facts: MirrorFacts, inFlight: readonly ReadRequest[]): Step => {
  if (inFlight.length > 0) return { kind: "wait" };
  const reachedKnown =
    !state.first &&
    facts.last !== null &&
    facts.last.unchanged + facts.last.updated > state.repeated &&
    (state.newestOn === "first" || state.page < Math.ceil((state.total ?? 0) / state.size));
  if (state.ended || (state.newestOn !== null && reachedKnown)) {
    return { kind: "done", addsUp: false, whole: state.ended };
  }
  // Each request adds an entry to the list, so pages of one entry would never end.
  if (state.newestOn !== null && state.size <= 1) return { kind: "done", addsUp: false, whole: false };
  return { kind: "read", reads: [{ page: state.page, perPage: state.size, role: "cover" }] };
};
