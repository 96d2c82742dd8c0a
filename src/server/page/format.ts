// Formats numbers, ages, times and cells for people on the page, with the same words as the terminal.

const NUMBER = new Intl.NumberFormat("en-US");
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : NUMBER.format(value);

/** Whole units only: `4m`, `3h`, `12d`. */
export const span = (ms: number): string => {
  // A time just ahead, by another machine's clock, is now.
  const passedMs = Math.max(0, ms);
  const seconds = passedMs / 1000;
  if (seconds < 1) return `${Math.round(passedMs)}ms`;
  if (seconds < 90) return `${Math.round(seconds)}s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)}m`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
};

export const ago = (at: number | null, now: number): string => (at === null ? "never" : `${span(now - at)} ago`);

export const when = (ms: number | null): string => (ms === null ? "–" : WHEN.format(new Date(ms)));

export const bytes = (value: number | null): string => {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB"];
  let size = value;
  let at = 0;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${size.toFixed(at === 0 || size >= 10 ? 0 : 1)} ${units[at]}`;
};

export const counted = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

/** Mood of the status of a run or list. */
export const moodOf = (status: string): "good" | "warn" | "bad" | "plain" => {
  if (["done", "idle"].includes(status)) return "good";
  if (["partial", "stopped", "interrupted", "cancelled"].includes(status)) return "warn";
  return status === "failed" ? "bad" : "plain";
};

/** A cell of a query result as text. */
export const cellText = (value: unknown): string => {
  if (typeof value === "string") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};
