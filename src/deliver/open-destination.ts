// Opens a destination by its kind. A kind's code and packages are loaded when a destination of it is opened.
import type { DestinationSettings } from "../core/config/destinations/destination-settings.ts";
import type { MemoryPlan } from "../core/config/memory-plan.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Destination } from "./destination.ts";

/** What every kind gets besides its settings. */
export interface DestinationContext {
  /** DuckDB's memory limits. */
  readonly memory: MemoryPlan;
}

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
    case "ducklake": {
      const { openDucklake } = await import("./kinds/ducklake/ducklake-destination.ts");
      return openDucklake(settings, context);
    }
    case "parquet": {
      const detail = `destinations: ${settings.name}: this version cannot deliver to kind ${settings.kind} yet`;
      throw new DuckmirrorError("CONFIG_INVALID", { detail });
    }
    default:
      return settings satisfies never;
  }
};
