// Id of a mirror: a name for its data directory that fetchers on other machines can use.
import { lastingId } from "../../../core/state/lasting-id.ts";

/** The id of the mirror in `dataDir`. Throws DATA_DIR_UNWRITABLE. */
export const mirrorIdOf = (dataDir: string): Promise<string> => lastingId(dataDir, "mirror-id");
