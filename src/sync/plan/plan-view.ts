// Plan view: the mirror's state and the configuration, turned into due candidates. Shared by `plan` and `sync`, so that
// what is announced is what is done.
import { type StreamName, streamSpec, wantedContent } from "../../catalog/streams.ts";
import type { MirrorReader } from "../../warehouse/read/mirror-reader.ts";
import type { ListShape } from "../request/list-shape.ts";
import type { Candidate, DueOptions, MirrorView } from "./candidate.ts";
import { dueCandidates } from "./due.ts";
import { readMirrorView } from "./mirror-view.ts";

/** Configuration of a sync, as far as planning needs it. */
export type PlanOptions = Omit<DueOptions, "shapes">;

export interface Plan {
  /** Everything that is due now, most valuable first. */
  readonly candidates: readonly Candidate[];
  /** What they were decided on. */
  readonly view: MirrorView;
}

/** Reads the mirror's state and decides what is due. Sends nothing. */
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
