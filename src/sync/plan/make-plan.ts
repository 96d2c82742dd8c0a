// Makes the plan from the mirror's state and the configuration. `plan` and `sync` both use it, so a sync does what
// `plan` announces.
import { type StreamName, streamSpec, wantedContent } from "../../catalog/streams.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import type { ListShape } from "../request/list-shape.ts";
import type { Candidate, DueOptions, MirrorView } from "./candidate.ts";
import { dueCandidates } from "./due.ts";
import { readMirrorView } from "./mirror-view.ts";

/** The part of the configuration that planning needs. */
export type PlanOptions = Omit<DueOptions, "shapes">;

export interface Plan {
  /** All due work, most valuable first. */
  readonly candidates: readonly Candidate[];
  /** The state of the mirror that the plan is based on. */
  readonly view: MirrorView;
}

/** Reads the mirror's state and returns the due work. Sends nothing. */
export const planSync = async (
  warehouse: MirrorReader,
  options: PlanOptions,
  shapes: ReadonlyMap<StreamName, ListShape>,
  now: number,
): Promise<Plan> => {
  const wantsContent =
    options.streams.includes("signals") && wantedContent(streamSpec("signals"), options.content).length > 0;
  const view = await readMirrorView(warehouse, now, wantsContent);
  return { candidates: dueCandidates(view, { ...options, shapes }), view };
};
