// Opens a destination of kind parquet from its settings.
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import type { Destination, DestinationContext } from "../../destination.ts";
import { openStore, parsePlace } from "../../stores/open-store.ts";
import { parquetDestination } from "./parquet-destination.ts";

/** Sends nothing yet. Throws CONFIG_INVALID, DESTINATION_PACKAGE_MISSING. */
export const openParquet = async (
  settings: SettingsOf<"parquet">,
  { memory, azure, clock }: DestinationContext,
): Promise<Destination> => {
  const { name, url, folder, account, region, endpoint, path_style: pathStyle, sse, kms_key_id: kmsKeyId } = settings;
  const { keep_old_parts: keepOldPartsMs, answer_timeout: answerMs } = settings;
  const place = parsePlace(url.reveal(), folder, name);
  const store = await openStore(name, place, { account, region, endpoint, pathStyle, sse, kmsKeyId, azure, answerMs });
  return parquetDestination(store, { keepOldPartsMs, memory, clock });
};
