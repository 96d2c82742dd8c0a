// Configuration: flags over environment over duckmirror.yaml over defaults, parsed once, into one typed object.
import { isAbsolute, join, resolve } from "node:path";
import { closest, didYouMean } from "../did-you-mean.ts";
import { DuckmirrorError } from "../errors.ts";
import { machineMemory } from "../machine-memory.ts";
import { Secret } from "../secret.ts";
import { type ConfigFile, type FileSettings, readConfigFile } from "./config-file.ts";
import { undocumentedFields } from "./field-settings.ts";
import { memoryPlan } from "./memory-plan.ts";
import { PROGRAM_WIDE, type SettingName, settingList, settingsSchema, type Vocabulary } from "./settings.ts";

export type Env = Readonly<Record<string, string | undefined>>;
/** Settings given on the command line, under their names in the file. */
export type FlagValues = Readonly<Partial<Record<SettingName, string | readonly string[] | undefined>>>;

/** Where a setting's value comes from, for messages: `--max-credits`, `DUCKMIRROR_MAX_CREDITS`, `x.yaml, line 3`. */
type Origin = { readonly kind: "flag" | "profile" | "environment" | "file"; readonly where: string };
/** From the strongest to the weakest. A profile's own settings go over the environment, which is every profile's. */
const KINDS = ["flag", "profile", "environment", "file"] as const;

const NAMES = settingList().map((setting) => setting.name);
const ENV_PREFIX = "DUCKMIRROR_";

/** `max_credits` → `DUCKMIRROR_MAX_CREDITS`; Redis goes by its usual name. */
export const envName = (setting: string): string =>
  setting === "redis_url" ? "REDIS_URL" : `${ENV_PREFIX}${setting.toUpperCase()}`;
const PROFILE_NAME = /^[A-Za-z0-9][\w-]{0,62}$/;
/** Name of the one organization of a configuration without profiles. */
export const ONLY_PROFILE = "default";
const flagName = (setting: string) => `--${setting.replaceAll("_", "-")}`;

const collect = (flags: FlagValues, env: Env, file: ConfigFile | null, own: FileSettings | undefined) => {
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  const flagged: Readonly<Record<string, unknown>> = flags;
  for (const name of NAMES) {
    const fromEnv = env[envName(name)]?.trim();
    const fromFile = file?.settings.get(name);
    const fromProfile = own?.get(name);
    if (flagged[name] !== undefined) {
      values[name] = flagged[name];
      origins[name] = { kind: "flag", where: flagName(name) };
    } else if (fromProfile) {
      values[name] = fromProfile.value;
      origins[name] = { kind: "profile", where: `${file?.path}, line ${fromProfile.line}` };
    } else if (fromEnv) {
      values[name] = fromEnv;
      origins[name] = { kind: "environment", where: envName(name) };
    } else if (fromFile) {
      values[name] = fromFile.value;
      origins[name] = { kind: "file", where: `${file?.path}, line ${fromFile.line}` };
    }
  }
  return { values, origins };
};

/** The three ways to give the token count as one setting: the strongest source wins, in it `token` over the others. */
const tokenSource = (origins: Readonly<Record<string, Origin>>) => {
  for (const kind of KINDS) {
    for (const name of ["token", "token_file", "token_command"] as const) {
      if (origins[name]?.kind === kind) return name;
    }
  }
  return null;
};

/** `DUCKMIRROR_MAX_CREDIT` would silently lift a limit: name what looks like a mistyped setting. */
const warningsOf = (env: Env): readonly string[] => {
  const known = [...NAMES, "config", "profile"].map(envName);
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.includes(name) && closest(name, known) !== null)
    .map((name) => `${name} is not a setting and is ignored.${didYouMean(name, known)}`);
};

const checkKeys = (file: ConfigFile | null): string[] => {
  const unknown = (settings: FileSettings, names: readonly string[]) =>
    [...settings]
      .filter(([name]) => !names.includes(name))
      .map(([name, { line }]) => `${name} (${file?.path}, line ${line}) is not a setting.${didYouMean(name, names)}`);
  const shared = (settings: FileSettings) =>
    [...settings]
      .filter(([name]) => PROGRAM_WIDE.includes(name))
      .map(([name, { line }]) => `${name} (${file?.path}, line ${line}) belongs to the program, not to a profile`);
  return [
    ...unknown(file?.settings ?? new Map(), [...NAMES, "profiles"]),
    ...[...(file?.profiles ?? [])].flatMap(([name, settings]) => [
      ...(PROFILE_NAME.test(name) ? [] : [`profile ${name}: a name is made of letters, digits, - and _`]),
      ...unknown(settings, NAMES),
      ...shared(settings),
    ]),
  ];
};

/** Which profile is meant: the named one, the only one, or none where the file has none. Throws PROFILE_UNKNOWN. */
const chooseProfile = (file: ConfigFile | null, named: string | undefined): string | null => {
  const names = [...(file?.profiles.keys() ?? [])];
  if (named === undefined && names.length <= 1) return names[0] ?? null;
  if (named !== undefined && (names.includes(named) || (names.length === 0 && named === ONLY_PROFILE))) {
    return names.length === 0 ? null : named;
  }
  const which = names.length === 0 ? "no profiles" : `the profiles ${names.join(", ")}`;
  const detail = named === undefined ? "none was named" : `"${named}" is not one of them.${didYouMean(named, names)}`;
  throw new DuckmirrorError("PROFILE_UNKNOWN", { which, detail });
};

/**
 * The configuration from its parts. `profile`: which organization, where the file has several.
 * Throws CONFIG_INVALID naming every faulty setting and where it was set, and PROFILE_UNKNOWN.
 */
export const resolveConfig = (parts: {
  readonly flags: FlagValues;
  readonly env: Env;
  readonly file: ConfigFile | null;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
  readonly profile?: string | undefined;
}) => {
  const { flags, env, file, cwd, vocabulary } = parts;
  const profile = chooseProfile(file, parts.profile);
  const own = profile === null ? undefined : file?.profiles.get(profile);
  const { values, origins } = collect(flags, env, file, own);
  const parsed = settingsSchema(vocabulary).safeParse(values);
  const problems = [
    ...checkKeys(file),
    ...(parsed.error?.issues ?? []).map((issue) => {
      const name = String(issue.path[0]);
      return `${name} (${origins[name]?.where ?? "default"}): ${issue.message}`;
    }),
  ];
  if (!parsed.success || problems.length > 0) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: problems.map((text) => text.replace(/\.$/, "")).join("; ") });
  }
  const setting = parsed.data;
  // A path in the file belongs to the file; anywhere else to where the command was typed.
  const path = (name: SettingName, value: string) => {
    const home = env.HOME !== undefined && /^~(\/|$)/.test(value) ? join(env.HOME, value.slice(1)) : value;
    const kind = origins[name]?.kind;
    const base = (kind === "file" || kind === "profile") && file ? file.folder : cwd;
    return isAbsolute(home) ? home : resolve(base, home);
  };
  const source = tokenSource(origins);
  const tokenOf = () => {
    if (source === "token" && setting.token) return { kind: "value", value: new Secret(setting.token) } as const;
    if (source === "token_file" && setting.token_file) {
      return { kind: "file", path: path("token_file", setting.token_file) } as const;
    }
    if (source === "token_command" && setting.token_command) {
      return { kind: "command", command: setting.token_command } as const;
    }
    return null;
  };
  const keyOf = (name: "server_key" | "hash_key") => {
    // In one place both may be set; a key stands closer than the name of a file.
    const file = `${name}_file` as const;
    const stronger = KINDS.find((kind) => origins[name]?.kind === kind || origins[file]?.kind === kind);
    const [key, keyFile] = [setting[name], setting[file]];
    if (key !== undefined && origins[name]?.kind === stronger) {
      return { kind: "value", value: new Secret(key) } as const;
    }
    return keyFile === undefined ? null : ({ kind: "file", path: path(file, keyFile) } as const);
  };
  const unknownFields = undocumentedFields(vocabulary.fields, [...setting.exclude_fields, ...setting.hash_fields]);
  // Several organizations share one --data-dir: each has a folder of its own in it.
  const dataDir = path("data_dir", setting.data_dir);
  return {
    /** Name of the organization's profile. */
    profile: profile ?? ONLY_PROFILE,
    /** Address of the service without a trailing slash; null when none is configured. */
    baseUrl: setting.base_url ?? null,
    /** Where the token is; `resolveToken` (token.ts) gets it. */
    token: tokenOf(),
    /** Absolute. */
    dataDir: profile === null || own?.has("data_dir") ? dataDir : join(dataDir, profile),
    /** Requests per minute; null: what the service says. */
    rateLimitPerMinute: setting.rate_limit,
    /** Credits a run may spend; null: no limit of our own. */
    maxCredits: setting.max_credits ?? null,
    reserveCredits: setting.reserve,
    pace: setting.pace,
    companies: setting.companies,
    /** null: all streams. */
    streams: setting.streams ?? null,
    content: setting.content,
    view: setting.view,
    maxPageSize: setting.max_page_size,
    maxBodyBytes: setting.max_body_bytes,
    timeouts: {
      connectMs: setting.connect_timeout,
      headersMs: setting.headers_timeout,
      bodyMs: setting.body_timeout,
      totalMs: setting.request_timeout,
    },
    concurrency: setting.concurrency,
    maxDeleteShare: setting.max_delete_share,
    /** `table.field`, in the API's names. */
    excludeFields: setting.exclude_fields,
    hashFields: setting.hash_fields,
    /** Where the key of hashed fields is; `resolveHashKey` (hash-key.ts) gets it. null: none. */
    hashKey: keyOf("hash_key"),
    /** Table, or `*` for all → how strict; see `strictnessOf`. */
    strictness: setting.strictness,
    allowPlainHttp: setting.allow_plain_http,
    /** null: keep for ever. */
    archiveRetentionDays: setting.archive_retention_days,
    /** null: keep for ever. */
    historyRetentionDays: setting.history_retention_days,
    /** Stream → ms; streams that are not named keep the catalog's age. */
    maxAgeMs: setting.max_age,
    reconcileEveryMs: setting.reconcile_every,
    syncEveryMs: setting.sync_every,
    schedules: setting.schedule,
    /** What a worker writes after each sync. */
    exportFormats: setting.export_formats,
    memory: memoryPlan(setting.memory, machineMemory()),
    maxSyncs: setting.max_syncs,
    maxFetches: setting.max_fetches,
    listen: setting.listen,
    /** Where the key of the server is; `resolveServerKey` (server-key.ts) gets it. null: none. */
    serverKey: keyOf("server_key"),
    logLevel: setting.log_level,
    logFormat: setting.log_format,
    redisUrl: setting.redis_url === undefined ? null : new Secret(setting.redis_url),
    /** The file that was read, if any. */
    file: file?.path ?? null,
    /** Setting → where its value comes from; settings at their default are absent. */
    origins: Object.fromEntries(Object.entries(origins).map(([name, origin]) => [name, origin.where])),
    warnings: [
      ...warningsOf(env),
      ...unknownFields.map((name) => `${name} is not a documented field: it is kept out should the service send it.`),
    ],
  };
};

/** Everything that can be configured, parsed. Secrets in it do not print. */
export type Config = ReturnType<typeof resolveConfig>;

interface ConfigInput {
  readonly flags?: FlagValues;
  readonly configPath?: string | undefined;
  readonly env: Env;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
}

const fileOf = ({ configPath, env, cwd }: ConfigInput) =>
  readConfigFile(configPath ?? (env[envName("config")]?.trim() || undefined), cwd);

/**
 * Read file and environment and resolve them. `configPath` is --config; DUCKMIRROR_CONFIG stands in for it, and
 * DUCKMIRROR_PROFILE for `profile`. Throws CONFIG_FILE_UNREADABLE, CONFIG_INVALID, PROFILE_UNKNOWN.
 */
export const loadConfig = (input: ConfigInput & { readonly profile?: string | undefined }): Config => {
  const { flags = {}, env, cwd, vocabulary } = input;
  const profile = input.profile ?? (env[envName("profile")]?.trim() || undefined);
  return resolveConfig({ flags, env, cwd, vocabulary, profile, file: fileOf(input) });
};

/**
 * The configurations of every profile, in the order of the file; one named `default` where there are no profiles.
 * Throws like loadConfig, and CONFIG_INVALID when two of them would write to one data directory.
 */
export const loadProfiles = (input: ConfigInput): readonly Config[] => {
  const { flags = {}, env, cwd, vocabulary } = input;
  const file = fileOf(input);
  const names = file === null || file.profiles.size === 0 ? [undefined] : [...file.profiles.keys()];
  const configs = names.map((profile) => resolveConfig({ flags, env, cwd, vocabulary, profile, file }));
  for (const [index, { dataDir, profile }] of configs.entries()) {
    const other = configs.slice(0, index).find((earlier) => earlier.dataDir === dataDir);
    if (other === undefined) continue;
    throw new DuckmirrorError("CONFIG_INVALID", {
      detail: `profiles ${other.profile} and ${profile} have the same data_dir ${dataDir}`,
    });
  }
  return configs;
};
