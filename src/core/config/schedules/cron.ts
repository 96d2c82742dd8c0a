// Parses a cron expression as crontab(5) means it, to the sets of its fields, and computes its next time. One meaning for both carriers: node-cron and
// BullMQ's own parser read some expressions differently (docs/decisions/configuration.md). Pure.
import { shown } from "../setting-parsers.ts";

// Computes the next time at which an expression matches, in its time zone. A time that a clock change skips runs once,
// after the change; a time that comes twice runs the first time, unless the expression names every hour. Pure.

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
/** 29 February comes again within eight years, also across a year such as 2100. */
const FURTHEST_DAYS = 9 * 366;

/** Offset of a time zone from UTC at a moment, ms. */
type OffsetAt = (at: number) => number;

const formats = new Map<string, Intl.DateTimeFormat>();
const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const numeric = "numeric";
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  formats.set(timeZone, format);
  return format;
};

const offsetIn = (timeZone: string): OffsetAt => {
  if (timeZone === "UTC") return () => 0;
  const format = formatOf(timeZone);
  return (at) => {
    const whole = Math.floor(at / SECOND_MS) * SECOND_MS;
    const parts = new Map(format.formatToParts(whole).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const [year, month, day] = [part("year"), part("month"), part("day")];
    return Date.UTC(year, month - 1, day, part("hour"), part("minute"), part("second")) - whole;
  };
};

const isDay = ({ days, months, weekdays, eitherDay }: Cron, local: Date): boolean => {
  const [day, weekday] = [days.has(local.getUTCDate()), weekdays.has(local.getUTCDay())];
  return months.has(local.getUTCMonth() + 1) && (eitherDay ? day || weekday : day && weekday);
};

/** Of local times, written as if they were UTC: the first match from `from` on, before `to`; null: there is none. */
const firstLocal = (cron: Cron, from: number, to: number): number | null => {
  for (let day = Math.floor(from / DAY_MS) * DAY_MS; day < to; day += DAY_MS) {
    if (!isDay(cron, new Date(day))) continue;
    for (const hour of cron.hours) {
      const hourAt = day + hour * 3_600_000;
      if (hourAt + 3_600_000 <= from) continue;
      for (const minute of cron.minutes) {
        const minuteAt = hourAt + minute * 60_000;
        if (minuteAt + 60_000 <= from) continue;
        const second = cron.seconds.find((each) => minuteAt + each * SECOND_MS >= from);
        if (second === undefined) continue;
        const at = minuteAt + second * SECOND_MS;
        return at < to ? at : null;
      }
    }
  }
  return null;
};

/** The first moment with another offset than at `from`, to the second. The offsets of both ends differ. */
const changeBetween = (offsetAt: OffsetAt, from: number, to: number): number => {
  const before = offsetAt(from);
  let [low, high] = [from, to];
  while (high - low > SECOND_MS) {
    const middle = Math.floor((low + high) / 2 / SECOND_MS) * SECOND_MS;
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
};

/** The first match of `from` to `to`, a day at most, in which the clocks change at most once. */
const firstWithin = (cron: Cron, offsetAt: OffsetAt, from: number, to: number): number | null => {
  const [before, after] = [offsetAt(from), offsetAt(to)];
  const among = (offset: number, start: number, end: number): number | null => {
    const local = firstLocal(cron, start + offset, end + offset);
    return local === null ? null : local - offset;
  };
  if (before === after) return among(before, from, to);
  const change = changeBetween(offsetAt, from, to);
  const earlier = among(before, from, change);
  if (earlier !== null) return earlier;
  const isSkipped = after > before && firstLocal(cron, change + before, change + after) !== null;
  if (isSkipped) return change;
  const repeatsMs = cron.everyHour ? 0 : Math.max(0, before - after);
  return among(after, change + repeatsMs, to);
};

/** Where the search begins: a time after `after` in an hour that came before is over, unless every hour runs. */
const startAfter = (cron: Cron, offsetAt: OffsetAt, after: number): number => {
  const start = (Math.floor(after / SECOND_MS) + 1) * SECOND_MS;
  const earlier = start - DAY_MS / 2;
  const repeatsMs = offsetAt(earlier) - offsetAt(start);
  if (cron.everyHour || repeatsMs <= 0) return start;
  return Math.max(start, changeBetween(offsetAt, earlier, start) + repeatsMs);
};

/** The first run after a moment, both in ms since the epoch; null: the expression matches no time. */
export const nextRun = (cron: Cron, timeZone: string, after: number): number | null => {
  const offsetAt = offsetIn(timeZone);
  let from = startAfter(cron, offsetAt, after);
  for (let days = 0; days < FURTHEST_DAYS; days += 1) {
    const found = firstWithin(cron, offsetAt, from, from + DAY_MS);
    if (found !== null) return found;
    from += DAY_MS;
  }
  return null;
};

/** Numbers that match, ascending. */
export interface Cron {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1 to 31. */
  readonly days: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0 (Sunday) to 6. */
  readonly weekdays: ReadonlySet<number>;
  /** Day of month and weekday are both restricted, so a day that matches either matches. */
  readonly eitherDay: boolean;
  /** The hour begins with `*`: at the end of daylight saving time the repeated hour runs again. */
  readonly everyHour: boolean;
  /** The expression has a field of seconds. */
  readonly bySecond: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of its numbers, from `min` on. */
  readonly names?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const SECOND: Field = { name: "second", min: 0, max: 59 };
const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "weekday", min: 0, max: 7, names: WEEKDAYS },
];

/** Text that is no expression, with what is wrong and what to write. */
export class CronProblem extends Error {
  override readonly name = "CronProblem";
}

const numberIn = (text: string, { name, min, max, names }: Field): number => {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return min + named;
  if (/[LW#]/i.test(text)) {
    throw new CronProblem(`${shown(text)} (${name}): L, W and # are not part of crontab; name the days, like 1-7`);
  }
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new CronProblem(`${shown(text)} is no ${name} from ${min} to ${max}`);
  return value;
};

/** `*`, `5`, `1-5`, each with or without `/step`. A range that ends before it begins passes the field's end: 22-2. */
const numbersIn = (item: string, field: Field): readonly number[] => {
  const { name, min } = field;
  const max = name === "weekday" ? 6 : field.max;
  const [range = "", step, ...more] = item.split("/");
  const [from = "", to, ...rest] = range.split("-");
  if (more.length > 0 || rest.length > 0) throw new CronProblem(`${shown(item)} is no ${name}`);
  const isAll = from === "*" || from === "?";
  if (step !== undefined && !/^[1-9]\d?$/.test(step)) throw new CronProblem(`${shown(step)} is no step of a ${name}`);
  if (step !== undefined && !isAll && to === undefined) {
    throw new CronProblem(`${shown(item)} (${name}): a step needs a range, like ${from}-${max}/${step}`);
  }
  const first = isAll ? min : numberIn(from, field);
  const last = isAll ? max : to === undefined ? first : numberIn(to, field);
  const size = max - min + 1;
  // Sunday is 0 and 7.
  const end = last >= first ? last : last + size;
  const count = Math.floor((end - first) / Number(step ?? 1)) + 1;
  return Array.from({ length: count }, (_, index) => min + ((first + index * Number(step ?? 1) - min) % size));
};

const parseField = (text: string, field: Field): readonly number[] =>
  [...new Set(text.split(",").flatMap((item) => numbersIn(item, field)))].sort((a, b) => a - b);

const isStar = (text: string): boolean => /^[*?]/.test(text);

/** The expression's fields: minute first, or second first if there are six. Throws CronProblem. */
export const parseCron = (text: string): Cron => {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new CronProblem(`it has ${fields.length} fields instead of five or six, like "*/15 * * * *"`);
  }
  const bySecond = fields.length === 6;
  const [second = "0", ...rest] = bySecond ? fields : ["0", ...fields];
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = rest.map((each, index) =>
    parseField(each, FIELDS[index] ?? SECOND),
  );
  const [, hour = "", day = "", , weekday = ""] = rest;
  return {
    seconds: parseField(second, SECOND),
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays),
    eitherDay: !isStar(day) && !isStar(weekday),
    everyHour: isStar(hour),
    bySecond,
  };
};
