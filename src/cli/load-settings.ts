// Loads the configuration for a command: shared options as flags, the catalog as vocabulary, secrets hidden at once.
import { vocabulary } from "../catalog/field-rules.ts";
import { type Config, type FlagValues, loadConfig, loadProfiles } from "../core/config/config.ts";
import { azureSecrets, secretsIn } from "../core/config/destinations/secrets-in.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { CliDeps, Profiles, SharedOptions } from "./command.ts";

const inputOf = (flags: FlagValues, shared: SharedOptions, deps: CliDeps) => {
  const level = shared.quiet ? "error" : shared.verbose ? "debug" : undefined;
  return {
    flags: { data_dir: shared.dataDir, log_format: shared.logFormat, log_level: level, ...flags },
    configPath: shared.config,
    env: deps.env,
    cwd: deps.cwd,
    vocabulary: vocabulary(),
    profile: shared.profile,
  };
};

const hideSecrets = (config: Config, { scrubber }: CliDeps) => {
  for (const secret of [config.token, config.serverKey, config.hashKey]) {
    if (secret?.kind === "value") scrubber.hide(secret.value);
  }
  for (const { url, secret } of config.alerts) {
    scrubber.hide(url);
    if (secret !== null && "value" in secret)
      for (const text of secret.value.reveal().split(/\s+/)) scrubber.hide(text);
  }
  for (const { url } of config.destinations) for (const secret of secretsIn(url.reveal())) scrubber.hide(secret);
  for (const secret of azureSecrets(config.azure)) scrubber.hide(secret);
  if (config.redisUrl === null) return;
  for (const secret of secretsIn(config.redisUrl.reveal())) scrubber.hide(secret);
};

const printWarnings = (config: Config, shared: SharedOptions, deps: CliDeps) => {
  for (const warning of shared.quiet ? [] : config.warnings) deps.terminal.err(`warning: ${warning}\n`);
};

/** Loads the configuration for one command. Warnings go to stderr unless --quiet. */
export const loadSettings = (flags: FlagValues, shared: SharedOptions, deps: CliDeps): Config => {
  const config = loadConfig(inputOf(flags, shared, deps));
  hideSecrets(config, deps);
  printWarnings(config, shared, deps);
  return config;
};

/** Configurations of all profiles, or of the one named by --profile. */
export const loadProfileSettings = (shared: SharedOptions, deps: CliDeps): Profiles => {
  const input = inputOf({}, shared, deps);
  const [first, ...others] = shared.profile === undefined ? loadProfiles(input) : [loadConfig(input)];
  if (first === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
  for (const config of [first, ...others]) hideSecrets(config, deps);
  printWarnings(first, shared, deps);
  return [first, ...others];
};
