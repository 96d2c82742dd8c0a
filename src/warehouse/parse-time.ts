// ISO 8601 dates and times as microseconds since the epoch, without the machine's time zone. Pure.
// Source: API.md, "Resources and their fields": times and dates are ISO 8601 strings.

const ISO =
  /^(\d{4})-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?)?)?$/;

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const FOUR_CENTURIES_MS = 146_097 * 86_400_000;
const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

export interface ParsedTime {
  /** Microseconds since the epoch. */
  readonly micros: bigint;
  /** False for a month without a day: the instant is the month's first, more than the text says. */
  readonly exact: boolean;
}

/**
 * Date-only is midnight UTC; a time without offset is UTC; fractions are cut to microseconds; 24:00 and a leap
 * second run into the next minute. null for anything else, also for dates that do not exist.
 */
export const parseTime = (text: string): ParsedTime | null => {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [, yearText, monthText, dayText, h, m, s, fraction, , sign, offsetH, offsetM] = match;
  const [year, month, day] = [Number(yearText), Number(monthText), Number(dayText ?? 1)];
  const [hour, minute, second] = [Number(h ?? 0), Number(m ?? 0), Number(s ?? 0)];
  if (year === 0 || month < 1 || month > 12 || day < 1 || day > (DAYS_IN_MONTH[month - 1] ?? 0)) return null;
  if (month === 2 && day === 29 && !isLeap(year)) return null;
  const micro = (fraction ?? "").slice(0, 6).padEnd(6, "0");
  if (hour > 24 || minute > 59 || second > 60) return null;
  if (hour === 24 && (minute > 0 || second > 0 || Number(micro) > 0)) return null;
  const [aheadH, aheadM] = [Number(offsetH ?? 0), Number(offsetM ?? 0)];
  if (aheadH > 23 || aheadM > 59) return null;
  const aheadMin = (aheadH * 60 + aheadM) * (sign === "-" ? -1 : 1);
  // Date.UTC reads years 0 to 99 as 1900 to 1999; 400 years later the calendar is the same.
  const shifted = Date.UTC(year + 400, month - 1, day, hour, minute, second);
  const ms = shifted - FOUR_CENTURIES_MS;
  return { micros: BigInt(ms - aheadMin * 60_000) * 1000n + BigInt(micro), exact: dayText !== undefined };
};
