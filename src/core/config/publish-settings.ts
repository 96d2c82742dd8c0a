// Settings of what is kept and published: limits of the archive, and when a sync that found nothing new publishes.
import { parseBytes } from "../text/units.ts";
import { duration, one, retentionDays } from "./setting-parsers.ts";

/** A size, `mirror` or `keep`. */
const archiveSize = one("a size like 2GiB, mirror, or keep", (value) => {
  if (/^(keep|null|none)$/i.test(value)) return { most: null };
  if (/^mirror$/i.test(value)) return { most: "mirror" as const };
  const bytes = parseBytes(value);
  return bytes === null ? null : { most: bytes };
}).transform((found): number | "mirror" | null => found.most);

export const publishSettings = {
  archive_retention_days: retentionDays.prefault(90).meta({
    description:
      "Days a response stays in the archive; keep: for ever. Before older ones are removed, a proven copy of the mirror becomes the baseline from which `replay` starts.",
  }),
  archive_max_size: archiveSize.prefault("mirror").meta({
    description:
      "Largest size of the archive: a size; mirror: the size of the snapshot, at least 256 MiB; keep: no limit.",
  }),
  publish_unchanged_every: duration.prefault("6h").meta({
    description:
      "A sync that finds nothing new replaces the snapshot only when it has this age, because that writes the whole file; `0s`: each sync replaces it.",
  }),
  publish_unchanged_below: one("a size like 32MiB", (value) => parseBytes(value))
    .prefault("32MiB")
    .meta({ description: "Every sync replaces a snapshot smaller than this." }),
};
