// Opens a destination by its kind. A kind's code and packages are loaded when a destination of it is opened.
import type { DestinationSettings } from "../core/config/destinations/destination-settings.ts";
import type { Destination, DestinationContext } from "./destination.ts";

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
      const { openParquet } = await import("./kinds/parquet/open-parquet.ts");
      return openParquet(settings, context);
    }
    case "ducklake": {
      const { openDucklake } = await import("./kinds/ducklake/ducklake-destination.ts");
      return openDucklake(settings, context);
    }
    default:
      return settings satisfies never;
  }
};
