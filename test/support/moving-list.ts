// A list that moves while it is read: the model that strategies are tested against, without network or database.
import type { PageRead, ReadRequest } from "../../src/sync/list/coverage/read-types.ts";

/** How the service orders the list: newest numeric id first, by opaque ids, or as inserted at either end. */
export type ListKind = "numeric-desc" | "opaque-desc" | "newest-first" | "newest-last";

export interface MovingList {
  /** Ids in the order the service would list them now. */
  order(): readonly string[];
  insert(): void;
  /** Deletes the row at a share of the list's length, 0 to 1. */
  remove(at: number): void;
  read(request: ReadRequest, most: number): PageRead;
}

/** Scrambles a counter into an id that does not grow. */
const opaque = (counter: number): string => ((counter * 2654435761) % 4294967296).toString(36).padStart(7, "0");

export const movingList = (kind: ListKind, rows: number): MovingList => {
  let counter = 0;
  let ids: string[] = [];
  const insert = () => {
    counter += 1;
    if (kind === "numeric-desc") ids = [String(counter), ...ids];
    else if (kind === "newest-first") ids = [opaque(counter), ...ids];
    else if (kind === "newest-last") ids = [...ids, opaque(counter)];
    else ids = [...ids, opaque(counter)].sort().reverse();
  };
  for (let row = 0; row < rows; row++) insert();
  return {
    order: () => ids,
    insert,
    remove: (at) => {
      const index = Math.min(ids.length - 1, Math.floor(at * ids.length));
      if (index >= 0) ids = ids.filter((_, position) => position !== index);
    },
    read: (request, most) => {
      const start = (request.page - 1) * request.perPage;
      const chosen = ids.slice(start, start + Math.min(request.perPage, most));
      return { ...request, ids: chosen, rows: chosen.length, values: [], total: ids.length };
    },
  };
};
