// Opens a destination by its kind, for deliveries and for `query --from` a lake. A kind's code and packages are loaded when a destination of it
// is opened. Hides the secrets of addresses from messages.

import { timerMs } from "../core/clock.ts";
import type { DestinationSettings } from "../core/config/destinations/destination-settings.ts";
import { secretsIn } from "../core/config/destinations/secrets-in.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { createScrubber } from "../core/secret.ts";
import type { Answered } from "../warehouse/duckdb/extended/extended-duckdb.ts";
import type { Destination, DestinationContext } from "./destination.ts";

// A user's SQL on what a destination holds.

interface DestinationQuestion {
  readonly sql: string;
  /** Time limit to the last row, ms. */
  readonly timeMs: number;
  readonly memoryMiB: number;
  readonly signal: AbortSignal;
}

/** How to read the destinations that are no lakes. */
const OTHER_READERS = {
  postgres: "query it with psql",
  parquet: "read the files that its _manifest.json names",
  snapshot: "attach its now/warehouse.duckdb",
} as const;

/** A text without the secrets of the address. */
export const withoutAddress = (text: string, { url }: DestinationSettings): string => {
  const scrubber = createScrubber();
  for (const secret of secretsIn(url.reveal())) scrubber.hide(secret);
  return scrubber.scrub(text);
};

/** Throws CONFIG_INVALID for a destination whose settings name a variable that is not set. */
export const assertSet = ({ name, unset }: DestinationSettings): void => {
  if (unset !== null)
    throw new DuckmirrorError("CONFIG_INVALID", { detail: `destinations: ${name}: ${unset} is not set` });
};

/** The error without the secrets of the address. */
const scrubbed = (error: unknown, settings: DestinationSettings): unknown => {
  if (!(error instanceof DuckmirrorError) || error.context.detail === undefined) return error;
  const detail = withoutAddress(String(error.context.detail), settings);
  return new DuckmirrorError(error.code, { ...error.context, detail });
};

/** Throws USAGE, CONFIG_INVALID, and the errors of `queryLake`. */
export const queryDestination = async <T>(
  settings: DestinationSettings,
  { sql, timeMs, memoryMiB, signal }: DestinationQuestion,
  use: (answer: Answered) => Promise<T>,
): Promise<T> => {
  const { name } = settings;
  if (settings.kind !== "ducklake") {
    const { kind } = settings;
    throw new DuckmirrorError("USAGE", {
      detail: `--from takes a lake, and ${name} is of kind ${kind}: ${OTHER_READERS[kind]}`,
    });
  }
  assertSet(settings);
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new DuckmirrorError("QUERY_LIMIT", { detail: `it took longer than ${timeMs / 1000} seconds` }));
  }, timerMs(timeMs));
  try {
    const { queryLake } = await import("./kinds/ducklake/query-lake.ts");
    const question = { sql, memoryLimit: `${memoryMiB}MiB`, signal: AbortSignal.any([signal, late.signal]) };
    return await queryLake(settings, question, use);
  } catch (error) {
    throw scrubbed(error, settings);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Opens a destination. Throws DESTINATION_PACKAGE_MISSING, DESTINATION_AWAY, DESTINATION_FAILED, or another error, which
 * becomes DESTINATION_FAILED.
 */
export const openDestination = async (
  settings: DestinationSettings,
  context: DestinationContext,
): Promise<Destination> => {
  switch (settings.kind) {
    case "postgres": {
      const { openPostgres } = await import("./kinds/postgres/postgres.ts");
      return openPostgres(settings);
    }
    case "parquet": {
      const { openParquet } = await import("./kinds/parquet/parquet-destination.ts");
      return openParquet(settings, context);
    }
    case "snapshot": {
      const { openSnapshots } = await import("./kinds/snapshot/snapshot-destination.ts");
      return openSnapshots(settings, context);
    }
    case "ducklake": {
      const { openDucklake } = await import("./kinds/ducklake/ducklake-destination.ts");
      return openDucklake(settings, context);
    }
    default:
      return settings satisfies never;
  }
};
