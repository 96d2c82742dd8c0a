// What a job needs to call the service. Apart from load-settings.ts, because commands load it at their start.
import type { Config } from "../core/config/config.ts";
import { resolveToken } from "../core/config/secrets/token.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { CliDeps } from "./command.ts";

/** Throws BASE_URL_MISSING and the errors of the token. */
export const serviceContext = async (
  config: Config,
  { clock, version, scrubber, signal }: Pick<CliDeps, "clock" | "version" | "scrubber" | "signal">,
) => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const token = await resolveToken(config);
  scrubber.hide(token);
  return { clock, random: Math.random, signal, version, token };
};
