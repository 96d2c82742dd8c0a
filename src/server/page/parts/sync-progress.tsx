// Shows the progress of a sync: its share, the time left, its credits, and its lists as they fill. Also of syncs of other processes on the
// same data.
import { useEffect, useState } from "preact/hooks";
import { count, counted, span } from "../format.ts";
import { useAsk, useNow, useShared, useTicks } from "../state.ts";
import type { Progress as ProgressAnswer } from "../wire.ts";
import { Bar, Card, Table } from "./parts.tsx";

const POLL_MS = 2_000;

type Progress = NonNullable<ProgressAnswer["progress"]>;
type List = Progress["streams"][number];

/** Share of the pages that are read, and the time left at this pace, where every list has said how long it is. */
export const shareOf = (progress: Progress, now: number): { share: number; leftMs: number } | null => {
  const known = progress.streams.filter(({ pages_total }) => pages_total !== null);
  const total = known.reduce((sum, { pages_total }) => sum + (pages_total ?? 0), 0);
  if (total === 0) return null;
  const share = Math.min(1, known.reduce((sum, { pages_done }) => sum + pages_done, 0) / total);
  return { share, leftMs: share === 0 ? 0 : ((now - progress.started_at) * (1 - share)) / share };
};

const WAITS: Readonly<Record<string, string>> = { rate: "the rate limit", retry: "another try", quota: "credits" };

export const momentText = (at: number): string => {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return isToday ? new Date(at).toLocaleTimeString() : new Date(at).toLocaleString();
};

export const waitText = (why: string, until: number): string =>
  `waits for ${WAITS[why] ?? why} until ${momentText(until)}`;

export const RunProgress = ({ progress }: { progress: Progress }) => {
  const now = useNow();
  const found = shareOf(progress, now);
  return found === null ? null : (
    <>
      <Bar share={found.share} label={`${Math.round(100 * found.share)}% of the known pages are read`} />
      <p class="hint">
        {Math.round(100 * found.share)}% of the known pages, {counted(progress.rows, "row")},{" "}
        {counted(progress.credits, "credit")} so far
        {found.share > 0.02 && found.share < 1 ? `; about ${span(found.leftMs)} left at this pace` : ""}
      </p>
    </>
  );
};

/** How a list of this run is. */
const STATES: Readonly<Record<string, string>> = { reading: "being read", idle: "read" };

const pagesText = ({ pages_done, pages_total }: List): string =>
  pages_total === null ? count(pages_done) : `${count(pages_done)} of ${count(pages_total)}`;

/** The sync that another process runs, asked for again and again; null: none runs; undefined: not known yet. */
export const useOtherSync = (): Progress | null | undefined => {
  const { abilities } = useShared();
  const [known, setKnown] = useState<Progress | null>();
  const { value, error } = useAsk<ProgressAnswer>(abilities.syncs ? null : "/api/progress", useTicks(POLL_MS));
  useEffect(() => {
    if (value !== null || error !== null) setKnown(value?.progress ?? null);
  }, [value, error]);
  return abilities.syncs ? null : known;
};

/** What a sync does that another process runs. `first`: there is no complete list yet. */
export const OtherSync = ({ progress, first = false }: { progress: Progress; first?: boolean }) => {
  const now = useNow();
  const { waiting } = progress;
  return (
    <Card
      title={first ? "The first sync is running" : "A sync is running"}
      id="other-sync"
      lead={
        first
          ? "Early results can be read as soon as they are published here. They are unconfirmed: a list is complete once it was read to its end."
          : `It began at ${momentText(progress.started_at)}. The figures below are those of the last publish.`
      }
    >
      <RunProgress progress={progress} />
      {waiting !== null && waiting.until > now ? <p class="hint">It {waitText(waiting.why, waiting.until)}.</p> : null}
      <Table
        title="Lists of this sync"
        empty="It has read nothing yet."
        rows={progress.streams}
        columns={[
          { head: "list", cell: ({ stream }) => stream },
          { head: "rows", kind: "number", cell: ({ rows }) => count(rows) },
          { head: "credits", kind: "number", cell: ({ credits }) => count(credits) },
          { head: "pages", kind: "number", cell: pagesText },
          { head: "state", cell: ({ state }) => STATES[state] ?? state },
        ]}
      />
    </Card>
  );
};
