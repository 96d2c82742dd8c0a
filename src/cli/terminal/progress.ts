// Progress of a run on stderr: live lines on a terminal, log lines elsewhere, only problems when quiet.
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/log.ts";
import type { ProgressEvent, ProgressSink } from "../../core/report/progress-events.ts";
import { levelOfCode } from "../../core/report/severity.ts";
import { formatBytes, formatDuration } from "../../core/text/units.ts";
import type { LiveArea } from "./live-area.ts";
import { countsText, progressLines, waitText } from "./progress-lines.ts";
import { afterEvent, noProgress, outcomeText } from "./progress-state.ts";
import type { Terminal } from "./terminal.ts";

/** Shortest time between log lines about a stream's pages; its start and end are always logged. */
const LOG_EVERY_MS = 10_000;
/** Shortest time between redraws while pages arrive. */
const DRAW_EVERY_MS = 80;

export interface Progress {
  readonly sink: ProgressSink;
  /** Leaves the last state on the screen. */
  end(): void;
}

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

/** Live lines, redrawn in place. */
export const createLiveProgress = (
  area: LiveArea,
  clock: Pick<Clock, "now">,
  view: { readonly columns: () => number; readonly colours: Terminal["errColours"] },
): Progress => {
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
export const createLoggedProgress = (
  log: Pick<Logger, "info" | "warn" | "error">,
  clock: Pick<Clock, "now">,
  format: "json" | "pretty",
): Progress => {
  let run = noProgress;
  const loggedAt = new Map<string, number>();
  const sink: ProgressSink = (event) => {
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
  return { sink, end: () => undefined };
};
