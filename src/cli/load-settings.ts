// Configuration for a command: the shared options as flags, the catalog as vocabulary, secrets hidden at once.
import { ruledTables } from "../catalog/field-rules.ts";
import { STREAM_NAMES, streamSpec, wantedContent } from "../catalog/streams.ts";
import { TABLE_NAMES, tableSpec } from "../catalog/tables.ts";
import { type Config, type FlagValues, loadConfig, loadProfiles } from "../core/config.ts";
import type { Vocabulary } from "../core/settings.ts";
import type { CliDeps, SharedOptions } from "./command.ts";

/** Tables without a stream of their own → the stream that fills them. */
const COMES_WITH: Readonly<Record<string, string>> = {
  owners: "accounts",
  company_inputs: "companies",
  usage_snapshots: "usage",
  usage_breakdown: "usage",
  usage_requests: "usage",
  usage_limits: "usage",
};

const contentFields = (): readonly string[] => {
  const everyField = TABLE_NAMES.flatMap((table) => tableSpec(table).fields.map((field) => field.name));
  const perStream = STREAM_NAMES.map((name) => ({ name, fields: wantedContent(streamSpec(name), everyField) }));
  const plain = perStream.flatMap(({ fields }) => fields.map((field) => field.name));
  const qualified = perStream.flatMap(({ name, fields }) => fields.map((field) => `${name}.${field.name}`));
  return [...new Set([...plain, ...qualified])];
};

/** The names that configuration may mention, from the catalog. */
export const vocabulary = (): Vocabulary => ({
  streams: STREAM_NAMES,
  content: contentFields(),
  comesWith: COMES_WITH,
  fields: ruledTables(),
});

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
  if (config.redisUrl === null) return;
  const { password } = new URL(config.redisUrl.reveal());
  scrubber.hide(decodeURIComponent(password));
};

const tellWarnings = (config: Config, shared: SharedOptions, deps: CliDeps) => {
  for (const warning of shared.quiet ? [] : config.warnings) deps.terminal.err(`warning: ${warning}\n`);
};

/** Loads the configuration for one command. Warnings go to stderr unless --quiet. */
export const loadSettings = (flags: FlagValues, shared: SharedOptions, deps: CliDeps): Config => {
  const config = loadConfig(inputOf(flags, shared, deps));
  hideSecrets(config, deps);
  tellWarnings(config, shared, deps);
  return config;
};

/** The configurations of every profile, or of the one that --profile names. */
export const loadProfileSettings = (shared: SharedOptions, deps: CliDeps): readonly Config[] => {
  const input = inputOf({}, shared, deps);
  const configs = shared.profile === undefined ? loadProfiles(input) : [loadConfig(input)];
  for (const config of configs) hideSecrets(config, deps);
  if (configs[0] !== undefined) tellWarnings(configs[0], shared, deps);
  return configs;
};
