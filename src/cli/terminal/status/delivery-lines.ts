// How far the destinations are: a table of `status`, and members of `status --json`.
import { counted, formatBytes, formatDuration } from "../../../core/text/units.ts";
import { isoTimeOrNull } from "../../../core/time.ts";
import { type DeliveryFigures, leftOutText } from "../../../deliver/notes.ts";
import { DISK_PARTS, type DiskUsage } from "../../../warehouse/read/disk-usage.ts";
import { renderTable } from "../table.ts";

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
  const heads = [
    { name: "destination" },
    { name: "kind" },
    { name: "state" },
    { name: "behind" },
    { name: "delivered" },
  ];
  const rows = figures.map((one) => [
    one.name,
    one.kind,
    stateText(one, ago),
    one.behindMs === null ? "" : one.behindMs === 0 ? "no" : formatDuration(one.behindMs),
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
