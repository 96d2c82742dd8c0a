// The second half of what `status` prints, as JSON and as lines: credits and their forecast, disk, deliveries. Pure.
import { counted, formatBytes, formatCount, formatDuration } from "../../../core/text/units.ts";
import { isoTime, isoTimeOrNull, minuteText } from "../../../core/time.ts";
import { type DeliveryFigures, leftOutText } from "../../../deliver/delivery-results.ts";
import { DISK_PARTS, type DiskUsage } from "../../../warehouse/read/disk-usage.ts";
import type { CreditStatus } from "../../../warehouse/read/read-credits.ts";
import type { MirrorStatus } from "../../../warehouse/read/read-status.ts";
import { renderTable } from "../table.ts";

// How far the destinations are: a table of `status`, and members of `status --json`.

// The disk space of a data directory, as lines of `status` and as members of `status --json`.

/** `freeShare`: of the snapshot's blocks. */
export const diskLines = ({ bytes, total, archiveFiles, growth }: DiskUsage, freeShare: number): readonly string[] => {
  const free = `, ${Math.round(freeShare * 100)}% of it free blocks`;
  const parts = DISK_PARTS.filter((part) => bytes[part] > 0).map(
    (part) => `${part.replace("_", " ")} ${formatBytes(bytes[part])}${part === "snapshot" ? free : ""}`,
  );
  const month = growth === null ? "" : growth.whole ? `in ${growth.month}` : `in ${growth.month} so far`;
  return [
    `disk: ${formatBytes(total)} (${parts.join("; ")})`,
    ...(growth === null
      ? []
      : [`archive: ${counted(archiveFiles, "file")}; it grew by ${formatBytes(growth.bytes)} ${month}`]),
  ];
};

export const diskJson = ({ bytes, total, archiveFiles, growth }: DiskUsage, freeShare: number) => ({
  total_bytes: total,
  bytes,
  snapshot_free_share: Math.round(freeShare * 1000) / 1000,
  archive_files: archiveFiles,
  archive_growth: growth === null ? null : { month: growth.month, whole: growth.whole, bytes: growth.bytes },
});

const stateText = ({ state, failing, leftOut }: DeliveryFigures, ago: (ms: number | null) => string): string => {
  if (failing === null) return leftOut.length === 0 ? state : `${state}, ${leftOutText(leftOut)}`;
  const since = failing.attempts === 1 ? ago(failing.at) : `${failing.attempts} times since ${ago(failing.since)}`;
  return `${state}: ${failing.code}, ${since}`;
};

/** Empty without destinations. */
export const deliveryLines = (
  figures: readonly DeliveryFigures[],
  columns: number,
  ago: (ms: number | null) => string,
  red: (text: string) => string,
): readonly string[] => {
  if (figures.length === 0) return [];
  const heads = ["destination", "kind", "state", "behind", "delivered"];
  const rows = figures.map((one) => [
    one.name,
    one.kind,
    stateText(one, ago),
    one.behindMs === null ? null : one.behindMs === 0 ? "no" : formatDuration(one.behindMs),
    ago(one.deliveredAt),
  ]);
  const isFailure = (text: string) => /^(failing|given up)/.test(text);
  return [renderTable(heads, rows, columns, (text, column) => (column === 2 && isFailure(text) ? red(text) : text))];
};

export const deliveryJson = (figures: readonly DeliveryFigures[]) =>
  figures.map(({ name, kind, state, change, behindMs, deliveredAt, lastMs, leftOut, failing }) => ({
    name,
    kind,
    state: state.replaceAll(" ", "_"),
    change,
    behind_seconds: behindMs === null ? null : behindMs / 1000,
    delivered_at: isoTimeOrNull(deliveredAt),
    duration_ms: lastMs,
    left_out: leftOut,
    error: failing === null ? null : failing.code,
    failing_since: isoTimeOrNull(failing?.since ?? null),
    failed_attempts: failing?.attempts ?? 0,
  }));

// Lines of `status` on how well the last syncs were foreseen. Pure.

type Forecasts = MirrorStatus["forecasts"];

const errorsOf = (forecasts: Forecasts): readonly number[] =>
  forecasts.flatMap(({ error_percent: percent }) => percent ?? []);

/** Median of the errors without their signs, in percent; null: no forecast compares with what its sync spent. */
export const medianError = (forecasts: Forecasts): number | null => {
  const sizes = errorsOf(forecasts)
    .map(Math.abs)
    .sort((a, b) => a - b);
  return sizes[Math.floor(sizes.length / 2)] ?? null;
};

const signed = (percent: number): string => `${percent > 0 ? "+" : ""}${percent}%`;

/** `forecast of the last sync: off by +4%`, `forecasts of the last 3 syncs: off by 4% in the median (+4%, -2%, +10%)`; nothing before the first. */
export const forecastLines = (forecasts: Forecasts): readonly string[] => {
  const middle = medianError(forecasts);
  if (middle === null) return [];
  const errors = errorsOf(forecasts);
  const [only] = errors;
  if (only !== undefined && errors.length === 1) return [`forecast of the last sync: off by ${signed(only)}`];
  return [
    `forecasts of the last ${formatCount(errors.length)} syncs: off by ${middle}% in the median (${errors.map(signed).join(", ")})`,
  ];
};

/** Most undecided requests that are named; --json names all. */
const MOST_NAMED = 5;

/** Member `credits` of `status --json`; null: the service has reported no figure yet. */
export const creditJson = ({ credits, undecided, pending }: CreditStatus) =>
  credits && {
    limit: credits.limit,
    used: credits.used,
    remaining: credits.remaining,
    resets_at: isoTimeOrNull(credits.resetsAt),
    captured_at: isoTimeOrNull(credits.capturedAt),
    spent_here: credits.spentHere,
    ambiguous_here: credits.ambiguousHere,
    spent_by_others: credits.spentByOthers,
    /** Calls of other commands that enter the ledger with the next sync. */
    pending_here: pending,
    undecided: undecided.map((request) => ({ ...request, started_at: isoTimeOrNull(request.started_at) })),
  };

const differenceText = ({ spentByOthers, uncounted }: NonNullable<CreditStatus["credits"]>): string => {
  if (uncounted > 0) return `; the service counts ${formatCount(uncounted)} fewer`;
  return spentByOthers === null || spentByOthers === 0
    ? ""
    : `; the service counts ${formatCount(spentByOthers)} more, spent by others`;
};

const creditLine = ({ credits }: CreditStatus, ago: (ms: number | null) => string): string => {
  if (credits === null) return "credits: the service has not reported any yet";
  const limit = credits.limit === null ? "" : ` of ${formatCount(credits.limit)}`;
  const ambiguous = credits.ambiguousHere === 0 ? "" : `, ${formatCount(credits.ambiguousHere)} more may have been`;
  const reset = credits.resetsAt === null ? "" : `, reset ${minuteText(isoTime(credits.resetsAt))}`;
  const period = credits.resetsAt === null ? "in the month before" : "in this period";
  return (
    `credits: ${formatCount(credits.remaining)}${limit} left${reset} (reported ${ago(credits.capturedAt)}); ` +
    `${formatCount(credits.spentHere)} spent by this mirror ${period}${ambiguous}${differenceText(credits)}`
  );
};

/** The account of the credits; then what is undecided, by name, and what the ledger lacks yet. */
export const creditLines = (status: CreditStatus, ago: (ms: number | null) => string): readonly string[] => {
  const { undecided, pending } = status;
  const named = undecided
    .slice(0, MOST_NAMED)
    .map(({ url, started_at, error }) => `undecided: ${url} (${ago(started_at)}): ${error ?? "no answer"}`);
  const more = undecided.length - named.length;
  return [
    creditLine(status, ago),
    ...named,
    ...(more > 0 ? [`undecided: ${counted(more, "more request")}; --json names them`] : []),
    ...(pending > 0
      ? [`${counted(pending, "request")} of other commands will enter the ledger with the next sync`]
      : []),
  ];
};
