// State of a run, computed from its events. Pure.
import type { ProgressEvent } from "../../core/report/progress-events.ts";
import { formatCount } from "../../core/text/units.ts";

type Of<K extends ProgressEvent["kind"]> = Extract<ProgressEvent, { kind: K }>;

export interface StreamProgress {
  readonly stream: string;
  readonly planned: number | null;
  readonly page: Of<"page"> | null;
  /** Arrival of the stream's first page and number of requests until then; rates are measured from here. */
  readonly since: { readonly at: number; readonly requests: number } | null;
  readonly lastAt: number;
  readonly waiting: Of<"waiting"> | null;
  readonly finished: Of<"stream-finished"> | null;
}

export interface RunProgress {
  readonly streams: ReadonlyMap<string, StreamProgress>;
  /** Wait of the whole run. */
  readonly waiting: Of<"waiting"> | null;
}

export const noProgress: RunProgress = { streams: new Map(), waiting: null };

const unknownStream = (stream: string, at: number): StreamProgress => ({
  stream,
  planned: null,
  page: null,
  since: null,
  lastAt: at,
  waiting: null,
  finished: null,
});

const change = (
  run: RunProgress,
  stream: string,
  at: number,
  part: (was: StreamProgress) => Partial<StreamProgress>,
) => {
  const was = run.streams.get(stream) ?? unknownStream(stream, at);
  return { ...run, streams: new Map(run.streams).set(stream, { ...was, ...part(was) }) };
};

const withoutWaits = (run: RunProgress): RunProgress => ({
  waiting: null,
  streams: new Map([...run.streams].map(([name, stream]) => [name, { ...stream, waiting: null }])),
});

const stillWaiting = ({ waiting }: RunProgress, now: number): RunProgress["waiting"] =>
  waiting !== null && waiting.until > now ? waiting : null;

/** Wait that continues after the run: no credits before the reset. */
const nextPeriod = ({ waiting }: RunProgress): RunProgress["waiting"] => (waiting?.why === "quota" ? waiting : null);

/** The run after `event`, which arrived at `now` (ms since the epoch). */
export const afterEvent = (run: RunProgress, event: ProgressEvent, now: number): RunProgress => {
  switch (event.kind) {
    case "stream-planned":
      return change(run, event.stream, now, () => ({ planned: event.requests }));
    case "page":
      // Responses to earlier requests arrive while the next request waits for its turn.
      return change({ ...run, waiting: stillWaiting(run, now) }, event.stream, now, (was) => ({
        page: event,
        since: was.since ?? { at: now, requests: event.requests },
        lastAt: now,
        waiting: null,
      }));
    case "waiting":
      return event.stream === null
        ? { ...run, waiting: event }
        : change(run, event.stream, now, () => ({ waiting: event }));
    case "resumed":
      return withoutWaits(run);
    case "stream-finished":
      return change({ ...run, waiting: nextPeriod(run) }, event.stream, now, () => ({
        finished: event,
        waiting: null,
        lastAt: now,
      }));
    case "run-started":
    case "published":
    case "looked":
    case "exported":
    case "note":
      return run;
    default: {
      const never: never = event;
      return never;
    }
  }
};

/** Requests per minute since the stream's first page; null until there is something to measure. */
export const requestsPerMinute = ({ page, since, lastAt }: StreamProgress): number | null => {
  if (page === null || since === null || lastAt <= since.at) return null;
  return ((page.requests - since.requests) * 60_000) / (lastAt - since.at);
};

/** Time until the stream is done at its present rate, in ms; null where unknown. */
export const timeLeftMs = (stream: StreamProgress): number | null => {
  const rate = requestsPerMinute(stream);
  const total = stream.page?.pagesTotal ?? stream.planned;
  if (rate === null || rate <= 0 || total === null || stream.page === null) return null;
  // More pages than expected, or none left: the stream is not done until it reports so.
  if (total <= stream.page.pagesDone) return null;
  return ((total - stream.page.pagesDone) * 60_000) / rate;
};

/** Result of a finished stream: counts such as `+12 ~3 -1`, or its error. */
export const outcomeText = (ended: Of<"stream-finished">): string => {
  const { status, inserted, updated, deleted, rejected, error } = ended;
  if (error !== undefined) return error;
  if (status === "skipped") return "nothing was requested";
  const parts = [
    inserted > 0 ? `+${formatCount(inserted)} new` : "",
    updated > 0 ? `${formatCount(updated)} changed` : "",
    deleted > 0 ? `${formatCount(deleted)} deleted` : "",
    rejected > 0 ? `${formatCount(rejected)} rejected` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "nothing changed" : parts.join(", ");
};
