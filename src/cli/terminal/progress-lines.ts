// Progress as lines for a terminal: one per stream and one for the run. Pure.
import { counted, formatCount, formatDuration } from "../../core/text/units.ts";
import { outcomeText, type RunProgress, requestsPerMinute, type StreamProgress, timeLeftMs } from "./progress-state.ts";
import type { Terminal } from "./terminal.ts";

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
export const waitText = ({ why, until }: Waiting, now: number, timeZone: string | undefined): string => {
  const time = new Date(until).toLocaleTimeString("en-GB", { hour12: false, timeZone });
  const day = dayOf(until, timeZone);
  const isToday = day === dayOf(now, timeZone);
  return `${REASONS[why]} until ${isToday ? time : `${day}, ${time.slice(0, 5)}`}`;
};

const ofTotal = (done: number, total: number | null, what: string) =>
  total === null ? counted(done, what) : `${formatCount(done)}/${counted(total, what)}`;

/** Progress of a stream: pages, rows, credits, rate, time left. */
export const countsText = (stream: StreamProgress): readonly string[] => {
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
