// The meaning of a schedule: next runs over two years in four zones equal those of a reference that looks at each minute.
import { describe, expect, test } from "vitest";
import { type Cron, nextRun, parseCron } from "../../../../../src/core/config/schedules/cron.ts";

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
const MINUTE = 60_000;
const START = Date.UTC(2024, 0, 1);
const END = Date.UTC(2026, 0, 1);

/** Local times of each minute, as if they were UTC: a zone changes its offset at a quarter of an hour. */
const localMinutes = (timeZone: string): Float64Array => {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  const minutes = new Float64Array((END - START) / MINUTE);
  let offset = 0;
  for (let index = 0; index < minutes.length; index++) {
    const at = START + index * MINUTE;
    if (index % 30 === 0) offset = Date.parse(`${format.format(at).replace(" ", "T")}Z`) - at;
    minutes[index] = at + offset;
  }
  return minutes;
};

const matches = (cron: Cron, local: number): boolean => {
  const date = new Date(local);
  if (!cron.minutes.includes(date.getUTCMinutes()) || !cron.hours.includes(date.getUTCHours())) return false;
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const [day, weekday] = [cron.days.has(date.getUTCDate()), cron.weekdays.has(date.getUTCDay())];
  return cron.eitherDay ? day || weekday : day && weekday;
};

/** Each minute in order; a local time that was there before counts again only for an expression of every hour. */
const reference = (cron: Cron, minutes: Float64Array): readonly number[] => {
  const runs: number[] = [];
  let latest = -Infinity;
  for (const [index, local] of minutes.entries()) {
    const isRepeated = local <= latest;
    let isDue = matches(cron, local) && (cron.everyHour || !isRepeated);
    for (let skipped = latest + MINUTE; Number.isFinite(latest) && !isDue && skipped < local; skipped += MINUTE) {
      isDue = matches(cron, skipped);
    }
    if (isDue) runs.push(START + index * MINUTE);
    latest = Math.max(latest, local);
  }
  return runs;
};

const EXPRESSIONS = [
  "17 5 * * *",
  "30 2 * * *",
  "0 0 * * *",
  "45 1,2,3 * * *",
  "0 5 13 * 5",
  "0 5 13 * *",
  "0 5 * * 5",
  "0 22-2 * * *",
  "0 0 1,15 * mon-fri",
  "0 12 */2 * 1",
  "15 3 29 2 *",
  "10 2 * 3,10 sun",
  "*/30 2 * * *",
  "0 */6 * * *",
  "20 4 31 * ?",
  "0 6 * * 5-7",
  "5 1-23/2 * jan-mar *",
];

describe.each(ZONES)("in %s", (timeZone) => {
  const minutes = localMinutes(timeZone);
  test.each(EXPRESSIONS)("%s runs when the reference does, over two years", (text) => {
    const cron = parseCron(text);
    const runs: number[] = [];
    for (let at = nextRun(cron, timeZone, START - 1); at !== null && at < END; at = nextRun(cron, timeZone, at)) {
      runs.push(at);
    }
    expect(runs.map((at) => new Date(at).toISOString())).toEqual(
      reference(cron, minutes).map((at) => new Date(at).toISOString()),
    );
  });
  test.each(["*/15 * * * *", "7 * * * *", "* 1-3 * * *"])(
    "%s, which runs often, does so around each change",
    (text) => {
      const cron = parseCron(text);
      const all = reference(cron, minutes);
      for (let index = 1; index < minutes.length; index++) {
        if ((minutes[index] ?? 0) - (minutes[index - 1] ?? 0) === MINUTE) continue;
        const [from, to] = [START + (index - 600) * MINUTE, START + (index + 600) * MINUTE];
        const runs: number[] = [];
        for (let at = nextRun(cron, timeZone, from); at !== null && at <= to; at = nextRun(cron, timeZone, at))
          runs.push(at);
        expect(runs).toEqual(all.filter((at) => at > from && at <= to));
      }
    },
  );
});
