// A moment as a person types it: a date, a time, or how long ago it was.
import { DuckmirrorError } from "../errors.ts";
import { timeMs } from "../time.ts";
import { parseDuration } from "./units.ts";

const DAY_MS = 86_400_000;

/**
 * ms since the epoch of `2026-11-01`, `2026-11-01T10:00Z`, `24h`, `7d` or `yesterday`; a duration counts back from `now`
 * (ms). Throws USAGE, which names `option`.
 */
export const momentBefore = (option: string, text: string, now: number): number => {
  const age = text === "yesterday" ? DAY_MS : parseDuration(text);
  const moment = age === null ? timeMs(text) : now - age;
  if (moment !== null) return moment;
  const detail = `${option}: "${text}" is no date, no time and no duration like 24h or 7d`;
  throw new DuckmirrorError("USAGE", { detail });
};
