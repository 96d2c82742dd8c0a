// Job check-profile: finds faults of a profile's configuration that would keep it from syncing. Sends no request, costs no credit.
// Apart from service-access.ts, because it loads the engine, and a command that only sends a request does not.
import type { Config } from "../src/core/config/config.ts";
import { resolveHashKey } from "../src/core/config/secrets/server-key.ts";
import { resolveToken } from "../src/core/config/secrets/token.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { Secret } from "../src/core/secret.ts";
import { assertWritable } from "../src/warehouse/file/working-file.ts";
import { type AccessContext, clientOf } from "./service-access.ts";

/**
 * Checks address, token, key of hashed fields and data directory. Returns the token. Throws BASE_URL_MISSING, the errors
 * of the token, TOKEN_OVER_PLAIN_HTTP, CONFIG_INVALID and DATA_DIR_UNWRITABLE.
 */
export const checkProfileJob = async (config: Config, context: Omit<AccessContext, "token">): Promise<Secret> => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  assertWritable(config.dataDir);
  await resolveHashKey(config);
  const token = await resolveToken(config);
  // Making the client checks the address and the proxy settings.
  await clientOf(config, { ...context, token }).close();
  return token;
};
