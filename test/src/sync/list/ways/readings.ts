// Builders for the decisions of a strategy: a page that was read, what the mirror holds, a request.
import type { MirrorFacts, PageRead, ReadRequest } from "../../../../../src/sync/list/coverage/read-types.ts";
import { type Cursor, type Progress, resumedCursor, storedCursor } from "../../../../../src/sync/list/ways/progress.ts";

export const NOTHING_NEW = { inserted: 0, updated: 0, unchanged: 5 };
export const facts = (more: Partial<MirrorFacts> = {}): MirrorFacts => ({
  rows: 0,
  matching: null,
  seen: 0,
  rejected: 0,
  last: null,
  acceptedGap: 0,
  ...more,
});
export const page = (more: Partial<PageRead> & { readonly ids: readonly string[] }): PageRead => ({
  page: 1,
  perPage: 5,
  role: "cover",
  rows: more.ids.length,
  values: [],
  total: null,
  ...more,
});
/** An empty first page of a hundred rows, but for what is given. */
export const aRead = (read: Partial<PageRead>): PageRead => ({
  page: 1,
  perPage: 100,
  role: "cover",
  ids: [],
  rows: 0,
  values: [],
  total: null,
  ...read,
});
export const cover = (number: number, perPage = 5): ReadRequest => ({ page: number, perPage, role: "cover" });
export const descending = (from: number, rows: number) => Array.from({ length: rows }, (_, row) => String(from - row));

export const aCursor = (progress: Progress): Cursor => ({
  ...{ progress, startedAt: 5, readAt: 6, newest: 7, firstNewest: null, firstMirror: true, rejected: 1, misfits: 2 },
  ...{ forgotten: ["forgotten:x"], content: ["fullContent"] },
});
/** The progress as another run takes it up from its stored text. */
export const resumed = (progress: Progress): Progress | undefined => {
  const cursor = storedCursor(JSON.stringify(aCursor(progress)));
  return cursor === null ? undefined : resumedCursor(cursor).progress;
};
