// Parses and formats durations, sizes and counts for people ("7d", "64MiB"); the program uses ms and bytes.

const DURATION_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const SIZE_BYTES = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 } as const;

const isUnit = <T extends object>(table: T, unit: string): unit is Extract<keyof T, string> =>
  Object.hasOwn(table, unit);

/** `1h30m`, `7d`, `500ms` → ms; null for other texts, also for a number without a unit. */
export const parseDuration = (text: string): number | null => {
  const compact = text.trim().toLowerCase().replace(/\s+/g, "");
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d|w))+$/.test(compact)) return null;
  let ms = 0;
  for (const [, amount, unit] of compact.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g)) {
    if (unit === undefined || !isUnit(DURATION_MS, unit)) return null;
    ms += Number(amount) * DURATION_MS[unit];
  }
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : null;
};

/** `64MiB`, `10 MB`, `1048576` → bytes; null for other texts. */
export const parseBytes = (text: string): number | null => {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text.trim().toLowerCase());
  if (!match) return null;
  const unit = match[2] === "" || match[2] === undefined ? "b" : match[2];
  if (!isUnit(SIZE_BYTES, unit)) return null;
  const bytes = Math.round(Number(match[1]) * SIZE_BYTES[unit]);
  return Number.isSafeInteger(bytes) ? bytes : null;
};

/** ms → `4m 10s`, the two largest units; under a second `0.3s`. */
export const formatDuration = (ms: number): string => {
  if (ms < 1000) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    { amount: Math.floor(seconds / 86_400), unit: "d" },
    { amount: Math.floor((seconds % 86_400) / 3600), unit: "h" },
    { amount: Math.floor((seconds % 3600) / 60), unit: "m" },
    { amount: seconds % 60, unit: "s" },
  ];
  const first = parts.findIndex((part) => part.amount > 0);
  return parts
    .slice(first, first + 2)
    .filter((part) => part.amount > 0)
    .map((part) => `${part.amount}${part.unit}`)
    .join(" ");
};

/** Bytes → `12.3 MiB`. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[at]}`;
};

/** 1234567 → `1,234,567`: the same in every locale. */
export const formatCount = (count: number | bigint): string => String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

/** `1 credit`, `1,234 credits`: for words whose plural is an s. */
export const counted = (count: number, word: string, words = `${word}s`): string =>
  `${formatCount(count)} ${count === 1 ? word : words}`;

/** "unconfirmed, 105 rows": a stream not proven complete; without a number if it is unknown. */
export const unconfirmedText = (rows: number | null): string =>
  rows === null || rows === 0 ? "unconfirmed" : `unconfirmed, ${counted(rows, "row")}`;
