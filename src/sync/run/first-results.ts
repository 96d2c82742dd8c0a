// Publishes the snapshot during the first sync, at growing intervals, so that users can query the rows loaded so far long before the
// run ends. Its lists count as incomplete until they are proven. docs/decisions/publishing.md.
import { detailOf } from "../../core/errors.ts";
import { formatCount } from "../../core/text/units.ts";
import type { LoadCounts } from "../../warehouse/record/checkpoint.ts";
import type { SyncDeps } from "./state/run-input.ts";

/** Time from the beginning of the run to its first publish, ms; each further one takes `GROWTH` times as long. */
const FIRST_AFTER_MS = 30_000;
const GROWTH = 4;

export interface FirstResults {
  /** Takes the counts of a commit, and publishes when it is due. */
  readonly noteCommit: (counts: readonly LoadCounts[]) => void;
  /** Publishes nothing more; resolves when no publish is under way. */
  stop(): Promise<void>;
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
    noteCommit: look,
    stop: async () => {
      isOver = true;
      await publishing;
    },
  };
};
