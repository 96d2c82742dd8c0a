// The option --since: a time, or a duration before now.
import { DuckmirrorError } from "../../core/errors.ts";
import { parseDuration } from "../../core/text/units.ts";
import { parseTime } from "../../core/time.ts";

/** `2025-01-31`, `2025-01-31T12:00Z` or `24h` ago → ms since the epoch. Throws USAGE. */
export const sinceOf = (text: string, now: number): number => {
  const ago = parseDuration(text);
  if (ago !== null) return now - ago;
  const time = parseTime(text);
  if (time === null) {
    throw new DuckmirrorError("USAGE", { detail: `--since: "${text}" is neither a time like 2025-01-31 nor 24h` });
  }
  return Number(time.micros) / 1000;
};
