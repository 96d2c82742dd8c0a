// The disk space of a data directory, as lines of `status` and as members of `status --json`.
import { counted, formatBytes } from "../../../core/text/units.ts";
import { DISK_PARTS, type DiskUsage } from "../../../warehouse/read/disk-usage.ts";

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
