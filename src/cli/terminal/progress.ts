// Progress of a run on stderr: live lines on a terminal, log lines elsewhere, only problems when quiet.
import type { Writable } from "node:stream";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/log.ts";
import { levelOfCode } from "../../core/report/problem.ts";
import type { ProgressEvent, ProgressSink } from "../../core/report/sync-progress.ts";
import { counted, formatBytes, formatCount, formatDuration } from "../../core/text/units.ts";
import type { Terminal } from "./terminal.ts";

// State of a run, computed from its events. Pure.

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

// Redraws a few lines at the bottom of the terminal; other text is written above them.

export interface LiveArea {
  draw(lines: readonly string[]): void;
  /** Writes text above the lines; it stays there. */
  above(text: string): void;
  /** Leaves the lines as they are and moves below them. */
  end(): void;
}

/**
 * A live area on a terminal's stream, no higher than the terminal. Lines must be narrower than it. The cursor stays
 * visible, so a killed program leaves the terminal usable.
 */
export const createLiveArea = (stream: Writable & { readonly rows?: number }): LiveArea => {
  let shown: readonly string[] = [];
  const redraw = (above: string, lines: readonly string[]) => {
    const up = shown.length === 0 ? "" : `\u001b[${shown.length}A`;
    shown = lines.slice(-Math.max(1, (stream.rows ?? Number.POSITIVE_INFINITY) - 1));
    // Each line replaces the one before it, without a flicker; then what is left below is erased.
    stream.write(`${up}${above}${shown.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`);
  };
  return {
    draw: (lines) => redraw("", lines),
    above: (text) => redraw(text.replaceAll("\n", "\u001b[K\n"), shown),
    end: () => {
      shown = [];
    },
  };
};

// Progress as lines for a terminal: one per stream and one for the run. Pure.

type Waiting = NonNullable<RunProgress["waiting"]>;

const REASONS: Readonly<Record<Waiting["why"], string>> = {
  rate: "waits for rate limit",
  retry: "waits for retry",
  // The run ends; nothing waits until then.
  quota: "has no credits left",
};

const dayOf = (at: number, timeZone: string | undefined): string =>
  new Date(at).toLocaleDateString("en-US", { month: "short", day: "numeric", timeZone });

/**
 * `waits for rate limit until 12:04:31`, `has no credits left until Dec 1, 00:00`: a healthy wait must not look like a hang.
 * `now` in ms since the epoch.
 */
const waitText = ({ why, until }: Waiting, now: number, timeZone: string | undefined): string => {
  const time = new Date(until).toLocaleTimeString("en-GB", { hour12: false, timeZone });
  const day = dayOf(until, timeZone);
  const isToday = day === dayOf(now, timeZone);
  return `${REASONS[why]} until ${isToday ? time : `${day}, ${time.slice(0, 5)}`}`;
};

const ofTotal = (done: number, total: number | null, what: string) =>
  total === null ? counted(done, what) : `${formatCount(done)}/${counted(total, what)}`;

/** Progress of a stream: pages, rows, credits, rate, time left. */
const countsText = (stream: StreamProgress): readonly string[] => {
  const { page } = stream;
  if (page === null) return stream.planned === null ? ["starting"] : [`${counted(stream.planned, "request")} planned`];
  const rate = requestsPerMinute(stream);
  const left = timeLeftMs(stream);
  return [
    ofTotal(page.pagesDone, page.pagesTotal, "page"),
    // A stream of single records, such as insights, has no rows of a list to count.
    ...(page.rows === 0 && page.rowsTotal === null ? [] : [ofTotal(page.rows, page.rowsTotal, "row")]),
    counted(page.credits, "credit"),
    ...(rate === null || stream.finished ? [] : [`${Math.round(rate)}/min`]),
    ...(left === null || stream.finished ? [] : [`${formatDuration(left)} left`]),
  ];
};

const stateText = (stream: StreamProgress): readonly string[] =>
  stream.finished
    ? [
        stream.finished.status,
        ...(stream.page === null ? [] : countsText(stream).slice(0, 3)),
        outcomeText(stream.finished),
      ]
    : countsText(stream);

/**
 * Joins as many parts as fit in `columns`; the first part that does not fit ends the line. `last` is always at the
 * end, because a wait matters more than the counts.
 */
const joinFitting = (parts: readonly string[], columns: number, last: string | null): string => {
  const end = last === null ? "" : `  ${last}`;
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}  ${part}`;
    if (line !== "" && longer.length + end.length >= columns) break;
    line = longer;
  }
  return `${line}${end}`.slice(0, Math.max(0, columns - 1));
};

/** The lines to show at `now`, ms since the epoch. `timeZone`: of clock times; undefined: the machine's. */
export const progressLines = (
  run: RunProgress,
  now: number,
  view: { readonly columns: number; readonly colours: Terminal["errColours"]; readonly timeZone?: string },
): readonly string[] => {
  const { columns, colours, timeZone } = view;
  const wait = (waiting: Waiting | null) => (waiting === null ? null : waitText(waiting, now, timeZone));
  const streams = [...run.streams.values()];
  const width = Math.max(0, ...streams.map(({ stream }) => stream.length));
  const paint = ({ finished, waiting }: StreamProgress) => {
    if (finished) return finished.status === "failed" ? colours.red : colours.green;
    return waiting ? colours.yellow : colours.cyan;
  };
  const lines = streams.map((stream) => {
    const parts = [stream.stream.padEnd(width), ...stateText(stream)];
    const text = joinFitting(parts, columns, stream.finished === null ? wait(stream.waiting) : null);
    return `${paint(stream)(text.slice(0, width))}${text.slice(width)}`;
  });
  const total = (name: "requests" | "credits" | "rows") =>
    counted(
      streams.reduce((sum, { page }) => sum + (page?.[name] ?? 0), 0),
      name.slice(0, -1),
    );
  const all = ["total".padEnd(width), total("requests"), total("rows"), total("credits")];
  return streams.length === 0 ? [] : [...lines, colours.dim(joinFitting(all, columns, wait(run.waiting)))];
};

/** Shortest time between log lines about a stream's pages; its start and end are always logged. */
const LOG_EVERY_MS = 10_000;
/** Shortest time between redraws while pages arrive. */
const DRAW_EVERY_MS = 80;

/** Text of a single event; null for events that only live lines show. */
const eventText = (event: ProgressEvent): string | null => {
  switch (event.kind) {
    case "published":
      return `published ${event.path} (${formatBytes(event.bytes)}, ${formatDuration(event.ms)})`;
    case "looked":
      return `nothing new: ${event.path} stays as it is`;
    case "exported":
      return `exported ${event.formats.join(", ")} (${formatDuration(event.ms)})`;
    case "note":
      return event.text;
    default:
      return null;
  }
};

/** Live lines, redrawn in place; `end` leaves the last state on the screen. */
export const createLiveProgress = (
  area: LiveArea,
  clock: Pick<Clock, "now">,
  view: { readonly columns: () => number; readonly colours: Terminal["errColours"] },
): { readonly sink: ProgressSink; readonly end: () => void } => {
  let run = noProgress;
  let drawnAt = Number.NEGATIVE_INFINITY;
  const draw = () => {
    drawnAt = clock.now();
    area.draw(progressLines(run, drawnAt, { columns: view.columns(), colours: view.colours }));
  };
  return {
    sink: (event) => {
      run = afterEvent(run, event, clock.now());
      const text = eventText(event);
      if (text !== null) area.above(`${text}\n`);
      if (event.kind !== "page" || clock.now() - drawnAt >= DRAW_EVERY_MS) draw();
    },
    end: () => {
      draw();
      area.end();
    },
  };
};

/**
 * Log lines, for output that is not a terminal. The log level decides which are written. Only JSON lines contain the
 * event's fields; for people the text says the same.
 */
export const loggedProgress = (
  log: Pick<Logger, "info" | "warn" | "error">,
  clock: Pick<Clock, "now">,
  format: "json" | "pretty",
): ProgressSink => {
  let run = noProgress;
  const loggedAt = new Map<string, number>();
  return (event) => {
    const now = clock.now();
    run = afterEvent(run, event, now);
    const { kind, ...all } = event;
    const fields = format === "json" ? all : {};
    switch (event.kind) {
      case "run-started":
        return log.info(fields, `${event.mode} sync started`);
      case "stream-planned":
        return log.info(fields, `${event.stream}: planned, because ${event.because}`);
      case "page": {
        const last = loggedAt.get(event.stream);
        if (last !== undefined && now - last < LOG_EVERY_MS) return;
        loggedAt.set(event.stream, now);
        const stream = run.streams.get(event.stream);
        return log.info(fields, `${event.stream}: ${stream ? countsText(stream).join(", ") : ""}`);
      }
      case "waiting":
        return log.info(fields, `${event.stream ?? "sync"} ${waitText(event, now, "UTC")} UTC`);
      case "resumed":
        return;
      case "stream-finished": {
        const text = `${event.stream}: ${event.status}, ${outcomeText(event)}`;
        if (event.status !== "failed") return log.info(fields, text);
        // The error starts with its code.
        return log[levelOfCode(event.error?.split(":", 1)[0] ?? "")](fields, text);
      }
      case "published":
      case "looked":
      case "exported":
      case "note":
        return event.kind === "note" && event.level === "warn"
          ? log.warn({}, event.text)
          : log.info(event.kind === "note" ? {} : fields, eventText(event) ?? "");
      default: {
        const never: never = event;
        return never;
      }
    }
  };
};
