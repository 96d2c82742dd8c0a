// Deletes: rows a walk that adds up did not meet. Guarded (a list that turns empty, too large a share), probed by id
// where the service has a detail route, and only then moved to history (invariant I3).

import type { StreamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ScopeTask } from "../task/scope-task.ts";

/** Rows asked for by id before a delete: a 404 is free and confirms, a 200 shows that the walk was wrong. */
export const PROBES = 3;

/** One scope whose walk added up, and what it did not meet. */
export interface MissingRows {
  readonly task: ScopeTask;
  /** Rows the mirror holds in this scope. */
  readonly rows: number;
  readonly missing: number;
  /** Ids to probe. */
  readonly sample: readonly string[];
}

export interface DeleteGuard {
  /** Largest share of the looked-at rows that may go at once. */
  readonly maxShare: number;
  readonly allowMassDelete: boolean;
}

/**
 * Whether missing rows of a stream may be deleted; an error when not. `rows`: rows of all lists of the stream that were
 * compared in this run, so that one company closing its last job opening is no alarm while the others are unchanged.
 */
export const guardDeletes = (
  stream: StreamSpec,
  found: { readonly rows: number; readonly missing: number },
  guard: DeleteGuard,
): DuckmirrorError | null => {
  const { rows, missing } = found;
  if (missing === 0 || guard.allowMassDelete) return null;
  if (missing >= rows && stream.tier === "full")
    return new DuckmirrorError("TIER_LOWERED", { stream: stream.name, rows });
  return missing >= rows || missing / rows > guard.maxShare
    ? new DuckmirrorError("MASS_DELETE_REFUSED", { stream: stream.name, missing, rows })
    : null;
};
