// Parses a cron expression as crontab(5) means it, to the sets of its fields. One meaning for both carriers: node-cron and
// BullMQ's own parser read some expressions differently (docs/decisions/configuration.md). Pure.
import { shown } from "../setting-parsers.ts";

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
