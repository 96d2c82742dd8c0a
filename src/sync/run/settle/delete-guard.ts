// Guards deletes of rows that a walk that adds up did not return: against empty lists, against too large a share, and
// with probes by id where the service has a detail route (invariant I3).

import type { StreamSpec } from "../../../catalog/streams.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { OpenList } from "../state/open-list.ts";
import type { DeleteGuard } from "../state/run-input.ts";

/** Rows requested by id before a delete: a 404 is free and confirms it, a 200 proves the walk wrong. */
export const PROBES = 3;

/** One scope whose walk added up, and the rows that it did not return. */
export interface MissingRows {
  readonly list: OpenList;
  /** Mirrored rows in this scope. */
  readonly rows: number;
  readonly missing: number;
  /** Ids to probe. */
  readonly sample: readonly string[];
}

/**
 * Decides whether missing rows of a stream may be deleted; returns an error if not. `rows`: rows of all lists of the
 * stream compared in this run, so that one company closing its last job opening is no alarm while others are
 * unchanged.
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
