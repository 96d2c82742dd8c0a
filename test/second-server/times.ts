// Moments as this service writes them: API.md says ISO 8601 and neither zone nor precision.

/** How a service writes a moment. */
export type TimeForm = "z-ms" | "z-s" | "z-us" | "z-ns" | "bare-ms" | "bare-s" | "+05:30" | "-08:00" | "+0000" | "date";

const OFFSET_MINUTES: Partial<Record<TimeForm, number>> = { "+05:30": 330, "-08:00": -480, "+0000": 0 };

/** `at`: ms since the epoch. `noise` fills the digits below milliseconds. */
export const writeTime = (at: number, form: TimeForm, noise = 0): string => {
  const iso = new Date(at).toISOString();
  const second = iso.slice(0, 19);
  const below = String(noise % 1_000_000).padStart(6, "0");
  switch (form) {
    case "z-ms":
      return iso;
    case "z-s":
      return `${second}Z`;
    case "z-us":
      return `${iso.slice(0, 23)}${below.slice(0, 3)}Z`;
    case "z-ns":
      return `${iso.slice(0, 23)}${below}Z`;
    case "bare-ms":
      return iso.slice(0, 23);
    case "bare-s":
      return second;
    case "date":
      return iso.slice(0, 10);
    case "+05:30":
    case "-08:00":
    case "+0000":
      return `${new Date(at + (OFFSET_MINUTES[form] ?? 0) * 60_000).toISOString().slice(0, 23)}${form}`;
    default:
      return form satisfies never;
  }
};

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Microseconds since the epoch, digits below cut; null for a text that is no moment. A text without zone is UTC. */
export const microsOf = (text: string): bigint | null => {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = "", zone = "Z"] = match;
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const offset = zone === "Z" ? 0 : Number(`${zone[0]}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)));
  return (BigInt(ms) - BigInt(offset * 60_000)) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
};

/** The same in ms; null for a text that is no moment. */
export const msOf = (text: string): number | null => {
  const micros = microsOf(text);
  return micros === null ? null : Number(micros) / 1000;
};
