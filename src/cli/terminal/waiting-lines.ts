// Lists and records that wait because their answers could not be used, for people.
import type { Waiting } from "../../core/state/unusable-answers.ts";
import { counted } from "../../core/text/units.ts";
import { isoTime, minuteText } from "../../core/time.ts";

/** One line for each stream: `contacts: 1 request waits until 2026-11-21 05:00 UTC, ...`. */
export const waitingLines = (waiting: readonly Waiting[]): readonly string[] =>
  waiting.map(({ stream, places, until }) => {
    const requests = `${counted(places, "request")} ${places === 1 ? "waits" : "wait"}`;
    const why = "it was refused, or the answer could not be used";
    return `${stream}: ${requests} until ${minuteText(isoTime(until))}: ${why}; \`duckmirror sync ${stream}\` asks at once`;
  });
