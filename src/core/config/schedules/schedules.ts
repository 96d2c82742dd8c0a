// Parses the setting `schedule`: when a worker syncs which streams. PURE.
import { z } from "zod";
import { parseDuration } from "../../text/units.ts";
import { shown } from "../setting-parsers.ts";
import { CronProblem, nextRun, parseCron } from "./cron.ts";

export interface Schedule {
  /** Five fields (minute first) or six (second first), as `parseCron` reads them. */
  readonly cron: string;
  /** IANA name. */
  readonly timeZone: string;
  /** ms: each start is delayed by a random part of this, so that many mirrors do not send at once. */
  readonly jitterMs: number;
  /** Empty: the configured streams. */
  readonly streams: readonly string[];
  /** Walk every list completely. */
  readonly full: boolean;
}

/** Any moment: an expression that matches no time after it matches none. */
const SOME_TIME = Date.UTC(2024, 0, 1);

/** What is wrong with a cron expression; null: nothing. */
const cronProblem = (text: string): string | null => {
  try {
    const isNever = nextRun(parseCron(text), "UTC", SOME_TIME) === null;
    return isNever ? `${shown(text)} matches no time: no such month has such a day` : null;
  } catch (error) {
    if (error instanceof CronProblem) return `${shown(text)} is not a cron expression: ${error.message}`;
    throw error;
  }
};

const isTimeZone = (name: string): boolean => {
  // The usual zone. Looking up another one loads the table of zones, in every command.
  if (name === "UTC") return true;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
};

const scalar = z.union([z.string(), z.boolean(), z.number()]).transform(String);

const entry = z.strictObject({
  cron: scalar,
  streams: z.union([z.array(scalar), scalar.transform((text) => text.split(","))]).optional(),
  full: scalar.optional(),
  time_zone: scalar.optional(),
  jitter: scalar.optional(),
});

const scheduleOf = (value: unknown, knownStream: (name: string) => string | null): Schedule | string => {
  const parsed = entry.safeParse(typeof value === "string" ? { cron: value } : value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return `${issue?.path.join(".") ?? ""} ${issue?.message ?? "is not a schedule"}`.trim();
  }
  const { cron, streams = [], full = "false", time_zone: timeZone = "UTC", jitter = "0s" } = parsed.data;
  const wrong = cronProblem(cron);
  if (wrong !== null) return wrong;
  if (!isTimeZone(timeZone)) return `${shown(timeZone)} is not a time zone like Europe/Berlin`;
  const jitterMs = parseDuration(jitter);
  if (jitterMs === null) return `${shown(jitter)} is not a duration like 30s`;
  const names = streams.map((name) => name.trim()).filter((name) => name !== "");
  const problem = names.map(knownStream).find((text) => text !== null);
  if (problem !== undefined && problem !== null) return problem;
  if (!/^(true|false|yes|no)$/i.test(full)) return `full: ${shown(full)} is neither yes nor no`;
  return { cron: cron.trim(), timeZone, jitterMs, streams: names, full: /^(true|yes)$/i.test(full) };
};

/**
 * Schedules from the setting: a cron expression, a list of them, or a list of maps with cron, streams, full,
 * time_zone and jitter; `off`: none. `knownStream` returns the problem with a name, or null. Returns the schedules or
 * the problem.
 */
export const parseSchedules = (
  value: unknown,
  knownStream: (name: string) => string | null,
): readonly Schedule[] | string => {
  if (typeof value === "string" && /^(off|none)$/i.test(value.trim())) return [];
  const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
  const parsed = entries.map((item) => scheduleOf(item, knownStream));
  const problem = parsed.find((item) => typeof item === "string");
  return typeof problem === "string" ? problem : parsed.filter((item) => typeof item !== "string");
};
