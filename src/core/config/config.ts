// Configuration: flags override environment, environment overrides duckmirror.yaml, which overrides defaults; parsed
// once into one typed object.
import { isAbsolute, join, resolve } from "node:path";
import { withoutLinks } from "../data-dir.ts";
import { DuckmirrorError } from "../errors.ts";
import { Secret } from "../secret.ts";
import { system } from "../system.ts";
import { closest, didYouMean } from "../text/did-you-mean.ts";
import { resolveAlerts } from "./alerts/alert-settings.ts";
import { type ConfigFile, type FileSettings, readConfigFile } from "./config-file.ts";
import { resolveDestinations } from "./destinations/destination-settings.ts";
import { azureEnvironment } from "./destinations/secrets-in.ts";
import { undocumentedFields } from "./field-settings.ts";
import { machineMemory, memoryPlan } from "./memory-plan.ts";
import { PROGRAM_WIDE, type SettingName, settingList, settingsSchema, type Vocabulary } from "./settings.ts";

// Names of settings, in the file and in the environment, and what is said of unknown and mistyped ones. PURE.

/** Values of environment variables. */
type Env = Readonly<Record<string, string | undefined>>;

/** Every setting, by its name in the file. */
const NAMES = settingList().map((setting) => setting.name);
const ENV_PREFIX = "DUCKMIRROR_";

/** `max_credits` → `DUCKMIRROR_MAX_CREDITS`; Redis uses its usual name. */
export const envName = (setting: string): string =>
  setting === "redis_url" ? "REDIS_URL" : `${ENV_PREFIX}${setting.toUpperCase()}`;
const PROFILE_NAME = /^[A-Za-z0-9][\w-]{0,62}$/;

/**
 * A mistyped `DUCKMIRROR_MAX_CREDIT` would silently remove a limit, so names similar to a setting cause a warning.
 */
const warningsOf = (env: Env): readonly string[] => {
  const known = [...NAMES, "config", "profile"].map(envName);
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.includes(name) && closest(name, known) !== null)
    .map((name) => `${name} is not a setting and is ignored.${didYouMean(name, known)}`);
};

/** Problems with the names of settings that a program gives. */
const unknownNames = (names: readonly string[]): string[] =>
  names
    .filter((name) => !NAMES.some((known) => known === name))
    .map((name) => `${name} is not a setting.${didYouMean(name, NAMES)}`);

/** Problems with the names of settings and profiles in the file. */
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

/** A value as in the file: text, number, yes or no, list or map. */
export type SettingValue =
  | string
  | number
  | boolean
  | readonly SettingValue[]
  | { readonly [name: string]: SettingValue };

/** Settings from the command line or a program, by their names in the file. */
export type FlagValues = Readonly<Partial<Record<SettingName, SettingValue | undefined>>>;

/** Origin of a setting's value, for messages: `--max-credits`, `DUCKMIRROR_MAX_CREDITS`, `x.yaml, line 3`. */
type Origin = { readonly kind: "flag" | "profile" | "environment" | "file"; readonly where: string };
/** Strongest first. A profile's own settings override the environment, which all profiles share. */
const KINDS = ["flag", "profile", "environment", "file"] as const;

/** Profile name of a configuration without profiles. */
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

/** Settings whose values may hold a secret; only whether they are set is shown. */
const UNSHOWN: readonly string[] = [
  "token",
  "token_command",
  "hash_key",
  "server_key",
  "redis_url",
  "destinations",
  "alerts",
];

/** Every setting as it is in force, as text, with the place that set it; `from` null: the default. */
const shownSettings = (values: Readonly<Record<string, unknown>>, origins: Readonly<Record<string, Origin>>) =>
  settingList().map(({ name, description, fallback }) => {
    const value = values[name] ?? fallback;
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
    const isSet = origins[name] !== undefined;
    return {
      name,
      meaning: description,
      value: UNSHOWN.includes(name) ? (isSet ? "set" : "not set") : value === null ? "not set" : text,
      from: origins[name]?.where ?? null,
    };
  });

/** The three settings for the token count as one: the strongest source wins, and within a source, `token`. */
const tokenSource = (origins: Readonly<Record<string, Origin>>) => {
  for (const kind of KINDS) {
    for (const name of ["token", "token_file", "token_command"] as const) {
      if (origins[name]?.kind === kind) return name;
    }
  }
  return null;
};

/** The profile to use: the named one, the only one, or none without profiles. Throws PROFILE_UNKNOWN. */
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

interface ConfigParts {
  readonly flags: FlagValues;
  readonly env: Env;
  readonly file: ConfigFile | null;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
}

/** What all profiles share: read once, because a configuration may have hundreds of them. */
const sharedBy = ({ file, vocabulary }: Pick<ConfigParts, "file" | "vocabulary">) => ({
  schema: settingsSchema(vocabulary),
  keyProblems: checkKeys(file),
  memoryBytes: machineMemory(),
});

/**
 * Resolves the configuration from its parts. `profile`: the organization, where the file has several.
 * Throws CONFIG_INVALID with every wrong setting and its origin, and PROFILE_UNKNOWN.
 */
export const resolveConfig = (
  parts: ConfigParts & { readonly profile?: string | undefined },
  { schema, keyProblems, memoryBytes } = sharedBy(parts),
) => {
  const { flags, env, file, cwd, vocabulary } = parts;
  const profile = chooseProfile(file, parts.profile);
  const own = profile === null ? undefined : file?.profiles.get(profile);
  const { values, origins } = collect(flags, env, file, own);
  const parsed = schema.safeParse(values);
  const problems = [
    ...keyProblems,
    ...unknownNames(Object.keys(flags)),
    ...(parsed.error?.issues ?? []).map((issue) => {
      const name = String(issue.path[0]);
      return `${name} (${origins[name]?.where ?? "default"}): ${issue.message}`;
    }),
  ];
  if (!parsed.success || problems.length > 0) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: problems.map((text) => text.replace(/\.$/, "")).join("; ") });
  }
  const setting = parsed.data;
  // A path in the file is relative to the file; any other path to the working directory.
  const baseOf = (name: SettingName) => {
    const kind = origins[name]?.kind;
    return (kind === "file" || kind === "profile") && file ? file.folder : cwd;
  };
  const path = (name: SettingName, value: string) => {
    const home = system.inHome(value, env);
    return isAbsolute(home) ? home : resolve(baseOf(name), home);
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
    // One source may set both; the key itself then wins over the file's name.
    const file = `${name}_file` as const;
    const stronger = KINDS.find((kind) => origins[name]?.kind === kind || origins[file]?.kind === kind);
    const [key, keyFile] = [setting[name], setting[file]];
    if (key !== undefined && origins[name]?.kind === stronger) {
      return { kind: "value", value: new Secret(key) } as const;
    }
    return keyFile === undefined ? null : ({ kind: "file", path: path(file, keyFile) } as const);
  };
  const unknownFields = undocumentedFields(vocabulary.fields, [...setting.exclude_fields, ...setting.hash_fields]);
  // Profiles that share a home have each a folder in it.
  const homeAt = (value: string): string => {
    const [place = "", ...store] = value.split("?");
    const stored = place.includes("://") ? place.replace(/\/+$/, "") : path("home", place);
    const one = profile === null || own?.has("home") ? stored : `${stored}/${profile}`;
    return [one, ...store].join("?");
  };
  // Organizations that share one --data-dir each have a folder in it.
  const dataDir = withoutLinks(path("data_dir", setting.data_dir));
  return {
    /** Name of the organization's profile. */
    profile: profile ?? ONLY_PROFILE,
    /** Address of the service without a trailing slash; null when none is configured. */
    baseUrl: setting.base_url ?? null,
    /** Source of the token; `resolveToken` (secrets.ts) reads it. */
    token: tokenOf(),
    /** Absolute path. */
    dataDir: profile === null || own?.has("data_dir") ? dataDir : join(dataDir, profile),
    /** Requests per minute; null: the service's limit. */
    rateLimitPerMinute: setting.rate_limit,
    pacing: setting.pacing,
    /** Most credits of a run; null: no limit of our own. */
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
    /** `table.field`, with API names. */
    excludeFields: setting.exclude_fields,
    hashFields: setting.hash_fields,
    /** Source of the key for hashed fields; `resolveHashKey` (secrets.ts) reads it. null: none. */
    hashKey: keyOf("hash_key"),
    /** Table, or `*` for all → strictness; see `tableStrictness`. */
    strictness: setting.strictness,
    allowPlainHttp: setting.allow_plain_http,
    /** `days` null: keep for ever. `bytes` null: without limit. */
    archiveLimits: { days: setting.archive_retention_days, bytes: setting.archive_max_size },
    /** null: keep for ever. */
    historyRetentionDays: setting.history_retention_days,
    /** When a sync that found nothing new publishes: age (ms) and size of the snapshot. */
    publish: { everyMs: setting.publish_unchanged_every, belowBytes: setting.publish_unchanged_below },
    /** Published snapshots that stay: `count` with the present one; `ageMs` null: any age. */
    keepSnapshots: setting.keep_snapshots,
    /** What a publish must pass; null: nothing. */
    checks: setting.checks === undefined ? null : { folder: path("checks", setting.checks), source: setting.user_sql },
    /** null: keep for ever. */
    ledgerRetentionDays: setting.ledger_retention_days,
    audit: {
      enabled: setting.audit_enabled,
      /** null: keep for ever. */
      retentionDays: setting.audit_retention_days,
      required: setting.audit_required,
    },
    usage: {
      /** null: the organization of the token. */
      organizationId: setting.organization_id ?? null,
      /** 0: none of the request history. */
      historyDays: setting.usage_history_days,
      breakdowns: setting.usage_breakdowns,
    },
    /** Stream → ms; other streams keep the catalog's age. */
    maxAgeMs: setting.max_age,
    reconcileEveryMs: setting.reconcile_every,
    /** Stream or kind of work → its budget. */
    budgets: setting.budgets,
    /** Rows of accounts, contacts and signals to mirror. */
    rowScope: setting.scope,
    syncEveryMs: setting.sync_every,
    /** How long one sync may run, ms; null: as long as it takes. */
    syncTimeoutMs: setting.sync_timeout,
    schedules: setting.schedule,
    /** Formats that a worker exports after each sync. */
    exportFormats: setting.export_formats,
    exportGuardFormulas: setting.export_guard_formulas,
    /** Address of the working state's home; null: the data directory alone has it. */
    home: setting.home === undefined ? null : homeAt(setting.home),
    azure: azureEnvironment(env),
    destinations: resolveDestinations(setting.destinations, env, baseOf("destinations")),
    alerts: resolveAlerts(setting.alerts, env, baseOf("alerts")),
    memory: memoryPlan(setting.memory, memoryBytes),
    maxSyncs: setting.max_syncs,
    listen: setting.listen,
    /** Source of the server's key; `resolveServerKey` (secrets.ts) reads it. null: none. */
    serverKey: keyOf("server_key"),
    userSql: setting.user_sql,
    /** null: no limit. */
    snapshotBytesPerMinute: setting.snapshot_bytes_per_minute,
    requireKey: setting.require_key,
    /** Read by `resolveTls` (secrets.ts). null: none. */
    tlsCertFile: setting.tls_cert_file === undefined ? null : path("tls_cert_file", setting.tls_cert_file),
    tlsKeyFile: setting.tls_key_file === undefined ? null : path("tls_key_file", setting.tls_key_file),
    logLevel: setting.log_level,
    logFormat: setting.log_format,
    redisUrl: setting.redis_url === undefined ? null : new Secret(setting.redis_url),
    /** Path of the configuration file, if there is one. */
    file: file?.path ?? null,
    /** Setting → origin of its value; settings at their default are absent. */
    origins: Object.fromEntries(Object.entries(origins).map(([name, origin]) => [name, origin.where])),
    shownSettings: shownSettings(values, origins),
    warnings: [
      ...warningsOf(env),
      ...unknownFields.map((name) => `${name} is not a documented field: it is kept out should the service send it.`),
    ],
  };
};

/** The whole parsed configuration. Its secrets do not print. */
export type Config = ReturnType<typeof resolveConfig>;

interface ConfigInput {
  readonly flags?: FlagValues;
  readonly configPath?: string | undefined;
  readonly env: Env;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
}

/** The file that --config names, else DUCKMIRROR_CONFIG; undefined: none is named. */
export const namedFile = ({ configPath, env }: Pick<ConfigInput, "configPath" | "env">): string | undefined =>
  configPath ?? (env[envName("config")]?.trim() || undefined);

const fileOf = (input: ConfigInput) => readConfigFile(namedFile(input), input.cwd);

/**
 * Reads file and environment and resolves them. `configPath` is --config, which replaces DUCKMIRROR_CONFIG; `profile`
 * replaces DUCKMIRROR_PROFILE. Throws CONFIG_FILE_UNREADABLE, CONFIG_INVALID, PROFILE_UNKNOWN.
 */
export const loadConfig = (input: ConfigInput & { readonly profile?: string | undefined }): Config => {
  const { flags = {}, env, cwd, vocabulary } = input;
  const profile = input.profile ?? (env[envName("profile")]?.trim() || undefined);
  return resolveConfig({ flags, env, cwd, vocabulary, profile, file: fileOf(input) });
};

/**
 * Configurations of all profiles, in the order of the file; one named `default` without profiles.
 * Throws the errors of loadConfig, and CONFIG_INVALID when two profiles use the same data directory.
 */
export const loadProfiles = (input: ConfigInput): readonly Config[] => {
  const { flags = {}, env, cwd, vocabulary } = input;
  const file = fileOf(input);
  const names = file === null || file.profiles.size === 0 ? [undefined] : [...file.profiles.keys()];
  const shared = sharedBy({ file, vocabulary });
  const configs = names.map((profile) => resolveConfig({ flags, env, cwd, vocabulary, profile, file }, shared));
  const owners = new Map<string, string>();
  for (const { dataDir, profile } of configs) {
    const other = owners.get(dataDir);
    if (other === undefined) owners.set(dataDir, profile);
    else {
      throw new DuckmirrorError("CONFIG_INVALID", {
        detail: `profiles ${other} and ${profile} have the same data_dir ${dataDir}`,
      });
    }
  }
  return configs;
};
