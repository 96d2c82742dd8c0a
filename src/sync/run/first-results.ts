// First results: while a mirror is made, the snapshot is published at growing intervals, so that what is there can be
// queried long before the end (docs/decisions/publishing.md). Its lists are incomplete until they are proven.
import { detailOf } from "../../core/errors.ts";
import { formatCount } from "../../core/text/units.ts";
import type { LoadCounts } from "../../warehouse/record/checkpoint.ts";
import type { SyncDeps } from "./state/run-input.ts";

/** Time from the beginning of the run to its first publish, ms; each further one takes `GROWTH` times as long. */
const FIRST_AFTER_MS = 30_000;
const GROWTH = 4;

export interface FirstResults {
  /** Takes the counts of a commit, and publishes when it is due. */
  readonly look: (counts: readonly LoadCounts[]) => void;
  /** Publishes nothing more; resolves when no publish is under way. */
  over(): Promise<void>;
}

/** `startedAt`: ms since the epoch. A publish that fails is a warning: the one at the end of the run decides. */
export const publishFirstResults = (
  { warehouse, clock, emit }: Pick<SyncDeps, "warehouse" | "clock" | "emit">,
  startedAt: number,
): FirstResults => {
  let dueAfterMs = FIRST_AFTER_MS;
  let rows = 0;
  let published = 0;
  let publishing: Promise<void> | null = null;
  let isOver = false;

  const publish = async (): Promise<void> => {
    const sofar = rows;
    try {
      await warehouse.publish();
      published = sofar;
      const text = `${formatCount(sofar)} rows can be queried already; lists that are still read count as incomplete`;
      emit({ kind: "note", level: "info", text });
    } catch (error) {
      const text = `the rows so far could not be published: ${detailOf(error)}`;
      emit({ kind: "note", level: "warn", text });
    }
    while (dueAfterMs <= clock.now() - startedAt) dueAfterMs *= GROWTH;
    publishing = null;
  };
  const look = (counts: readonly LoadCounts[]): void => {
    for (const { inserted } of counts) rows += inserted;
    const isDue = clock.now() - startedAt >= dueAfterMs && rows > published;
    if (isDue && !isOver && publishing === null) publishing = publish();
  };
  return {
    look,
    over: async () => {
      isOver = true;
      await publishing;
    },
  };
};
