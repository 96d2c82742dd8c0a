// Progress as lines for a terminal: one per stream, and one for the run. Pure.
import { counted, formatCount, formatDuration } from "../core/units.ts";
import { outcomeText, type RunProgress, requestsPerMinute, type StreamProgress, timeLeftMs } from "./progress-state.ts";
import type { Terminal } from "./terminal.ts";

type Waiting = NonNullable<RunProgress["waiting"]>;

const REASONS: Readonly<Record<Waiting["why"], string>> = {
  rate: "rate limit",
  retry: "retry",
  quota: "credits",
};

/** `waits for rate limit until 12:04:31`: a healthy wait must not look like a hang. */
export const waitText = ({ why, until }: Waiting, timeZone: string | undefined): string => {
  const time = new Date(until).toLocaleTimeString("en-GB", { hour12: false, timeZone });
  return `waits for ${REASONS[why]} until ${time}`;
};

const ofTotal = (done: number, total: number | null, what: string) =>
  total === null ? counted(done, what) : `${formatCount(done)}/${counted(total, what)}`;

/** What a stream did so far: pages, rows, credits, rate, time left. */
export const countsText = (stream: StreamProgress): readonly string[] => {
  const { page } = stream;
  if (page === null) return stream.planned === null ? ["starting"] : [`${counted(stream.planned, "request")} planned`];
  const rate = requestsPerMinute(stream);
  const left = timeLeftMs(stream);
  return [
    ofTotal(page.pagesDone, page.pagesTotal, "page"),
    ofTotal(page.rows, page.rowsTotal, "row"),
    counted(page.credits, "credit"),
    ...(rate === null || stream.finished ? [] : [`${Math.round(rate)}/min`]),
    ...(left === null || stream.finished ? [] : [`${formatDuration(left)} left`]),
  ];
};

const stateText = (stream: StreamProgress, timeZone: string | undefined): readonly string[] => {
  if (stream.finished) return [stream.finished.status, ...countsText(stream).slice(0, 3), outcomeText(stream.finished)];
  return stream.waiting ? [...countsText(stream), waitText(stream.waiting, timeZone)] : countsText(stream);
};

/** As many parts as fit in `columns`, joined; a part that does not fit ends the line. */
const joinFitting = (parts: readonly string[], columns: number): string => {
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : `${line}  ${part}`;
    if (longer.length >= columns) return line === "" ? part.slice(0, Math.max(0, columns - 1)) : line;
    line = longer;
  }
  return line;
};

/** The lines to show now. `timeZone`: of the clock times; undefined is the machine's. */
export const progressLines = (
  run: RunProgress,
  view: { readonly columns: number; readonly colours: Terminal["errColours"]; readonly timeZone?: string },
): readonly string[] => {
  const { columns, colours, timeZone } = view;
  const streams = [...run.streams.values()];
  const width = Math.max(0, ...streams.map(({ stream }) => stream.length));
  const paint = ({ finished, waiting }: StreamProgress) => {
    if (finished) return finished.status === "failed" ? colours.red : colours.green;
    return waiting ? colours.yellow : colours.cyan;
  };
  const lines = streams.map((stream) => {
    const text = joinFitting([stream.stream.padEnd(width), ...stateText(stream, timeZone)], columns);
    return `${paint(stream)(text.slice(0, width))}${text.slice(width)}`;
  });
  const total = (name: "requests" | "credits" | "rows") =>
    counted(
      streams.reduce((sum, { page }) => sum + (page?.[name] ?? 0), 0),
      name.slice(0, -1),
    );
  const all = [
    "total".padEnd(width),
    total("requests"),
    total("rows"),
    total("credits"),
    ...(run.waiting ? [waitText(run.waiting, timeZone)] : []),
  ];
  return streams.length === 0 ? [] : [...lines, colours.dim(joinFitting(all, columns))];
};
