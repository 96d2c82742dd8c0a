// The accepted gap of a list: records that the service counted and the mirror could not hold when the last complete walk
// ended (docs/GLOSSARY.md). Pure.
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";

/** Rows; below zero if the mirror held more than the service counted. null: no complete walk has shown it. */
export const acceptedGap = (state: Pick<ScopeState, "totalCount" | "rowsAtWalk"> | undefined): number | null =>
  state?.totalCount == null || state.rowsAtWalk == null ? null : state.totalCount - state.rowsAtWalk;
