// Settings of publishing: when a sync that found nothing new publishes nevertheless.
import { parseBytes } from "../text/units.ts";
import { duration, one } from "./setting-parsers.ts";

export const publishSettings = {
  publish_unchanged_every: duration.prefault("6h").meta({
    description:
      "A sync that found nothing new leaves the snapshot as it is until it has this age, because publishing writes the whole file; `0s`: each sync publishes.",
  }),
  publish_unchanged_below: one("a size like 32MiB", (value) => parseBytes(value))
    .prefault("32MiB")
    .meta({ description: "Smaller snapshots are published by every sync." }),
};
