// Configuration: flags over environment over duckmirror.yaml over defaults, parsed once, into one typed object.
import { isAbsolute, join, resolve } from "node:path";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { closest, didYouMean } from "./did-you-mean.ts";
import { DuckmirrorError } from "./errors.ts";
import { Secret } from "./secret.ts";
import { type SettingName, settingList, settingsSchema, type Vocabulary } from "./settings.ts";

export type Env = Readonly<Record<string, string | undefined>>;
/** Settings given on the command line, under their names in the file. */
export type FlagValues = Readonly<Partial<Record<SettingName, string | readonly string[] | undefined>>>;

/** Where a setting's value comes from, for messages: `--max-credits`, `DUCKMIRROR_MAX_CREDITS`, `x.yaml, line 3`. */
type Origin = { readonly kind: "flag" | "environment" | "file"; readonly where: string };

const NAMES = settingList().map((setting) => setting.name);
const ENV_PREFIX = "DUCKMIRROR_";

/** `max_credits` → `DUCKMIRROR_MAX_CREDITS`; Redis goes by its usual name. */
export const envName = (setting: string): string =>
  setting === "redis_url" ? "REDIS_URL" : `${ENV_PREFIX}${setting.toUpperCase()}`;
const flagName = (setting: string) => `--${setting.replaceAll("_", "-")}`;

const collect = (flags: FlagValues, env: Env, file: ConfigFile | null) => {
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  const flagged: Readonly<Record<string, unknown>> = flags;
  for (const name of NAMES) {
    const fromEnv = env[envName(name)]?.trim();
    const fromFile = file?.settings.get(name);
    if (flagged[name] !== undefined) {
      values[name] = flagged[name];
      origins[name] = { kind: "flag", where: flagName(name) };
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
  for (const kind of ["flag", "environment", "file"] as const) {
    for (const name of ["token", "token_file", "token_command"] as const) {
      if (origins[name]?.kind === kind) return name;
    }
  }
  return null;
};

/** `DUCKMIRROR_MAX_CREDIT` would silently lift a limit: name what looks like a mistyped setting. */
const warningsOf = (env: Env): readonly string[] => {
  const known = [...NAMES, "config"].map(envName);
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.includes(name) && closest(name, known) !== null)
    .map((name) => `${name} is not a setting and is ignored.${didYouMean(name, known)}`);
};

const checkKeys = (file: ConfigFile | null): string[] =>
  [...(file?.settings ?? [])]
    .filter(([name]) => !NAMES.includes(name))
    .map(([name, { line }]) => `${name} (${file?.path}, line ${line}) is not a setting.${didYouMean(name, NAMES)}`);

/** The configuration from its parts. Throws CONFIG_INVALID naming every faulty setting and where it was set. */
export const resolveConfig = (parts: {
  readonly flags: FlagValues;
  readonly env: Env;
  readonly file: ConfigFile | null;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
}) => {
  const { flags, env, file, cwd, vocabulary } = parts;
  const { values, origins } = collect(flags, env, file);
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
    const base = origins[name]?.kind === "file" && file ? file.folder : cwd;
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
  const serverKeyOf = () => {
    // In one place both may be set; a key stands closer than the name of a file.
    const stronger = (["flag", "environment", "file"] as const).find(
      (kind) => origins.server_key?.kind === kind || origins.server_key_file?.kind === kind,
    );
    if (setting.server_key !== undefined && origins.server_key?.kind === stronger) {
      return { kind: "value", value: new Secret(setting.server_key) } as const;
    }
    if (setting.server_key_file === undefined) return null;
    return { kind: "file", path: path("server_key_file", setting.server_key_file) } as const;
  };
  return {
    /** Address of the service without a trailing slash; null when none is configured. */
    baseUrl: setting.base_url ?? null,
    /** Where the token is; `resolveToken` (token.ts) gets it. */
    token: tokenOf(),
    /** Absolute. */
    dataDir: path("data_dir", setting.data_dir),
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
    allowPlainHttp: setting.allow_plain_http,
    /** null: keep for ever. */
    archiveRetentionDays: setting.archive_retention_days,
    /** null: keep for ever. */
    historyRetentionDays: setting.history_retention_days,
    /** Stream → ms; streams that are not named keep the catalog's age. */
    maxAgeMs: setting.max_age,
    reconcileEveryMs: setting.reconcile_every,
    syncEveryMs: setting.sync_every,
    listen: setting.listen,
    /** Where the key of the server is; `resolveServerKey` (server-key.ts) gets it. null: none. */
    serverKey: serverKeyOf(),
    logLevel: setting.log_level,
    logFormat: setting.log_format,
    redisUrl: setting.redis_url === undefined ? null : new Secret(setting.redis_url),
    /** The file that was read, if any. */
    file: file?.path ?? null,
    /** Setting → where its value comes from; settings at their default are absent. */
    origins: Object.fromEntries(Object.entries(origins).map(([name, origin]) => [name, origin.where])),
    warnings: warningsOf(env),
  };
};

/** Everything that can be configured, parsed. Secrets in it do not print. */
export type Config = ReturnType<typeof resolveConfig>;

/**
 * Read file and environment and resolve them. `configPath` is --config; DUCKMIRROR_CONFIG stands in for it.
 * Throws CONFIG_FILE_UNREADABLE, CONFIG_INVALID.
 */
export const loadConfig = (input: {
  readonly flags?: FlagValues;
  readonly configPath?: string | undefined;
  readonly env: Env;
  readonly cwd: string;
  readonly vocabulary: Vocabulary;
}): Config => {
  const { flags = {}, configPath, env, cwd, vocabulary } = input;
  const named = configPath ?? (env[envName("config")]?.trim() || undefined);
  return resolveConfig({ flags, env, cwd, vocabulary, file: readConfigFile(named, cwd) });
};
