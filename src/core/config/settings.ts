// THE table of settings: one zod schema with description, default and parser of every setting.
// Flags, environment and file are all text (or lists and maps of text), so one parser serves all three.
import { z } from "zod";
import { didYouMean } from "../text/did-you-mean.ts";
import { parseBytes, parseDuration } from "../text/units.ts";
import { alertsSetting } from "./alerts/alert-settings.ts";
import { destinationsSetting } from "./destinations/destination-settings.ts";
import { type FieldVocabulary, fieldSettings } from "./field-settings.ts";
import { parseMemory } from "./memory-plan.ts";
import { budgetsSetting } from "./planning/budget-settings.ts";
import { scopeSetting } from "./planning/scope-settings.ts";
import { parseSchedules, type Schedule } from "./schedules/schedules.ts";
import {
  choice,
  duration,
  Flaw,
  flaw,
  keptSnapshots,
  keyProblem,
  many,
  one,
  pairs,
  parseListen,
  plainText,
  rateLimit,
  retentionDays,
  shown,
  some,
  text,
  timeLimit,
  whole,
  yesNo,
} from "./setting-parsers.ts";

// The setting `user_sql`: where SQL of users may run.

const USER_SQL = ["box", "off", "trusted"] as const;
export type UserSqlSetting = (typeof USER_SQL)[number];

const userSqlSetting = choice(USER_SQL).prefault("box").meta({
  description:
    "SQL of users (`POST /api/query`, alert rules, the library): box: in a process that reaches nothing but the snapshot, or not at all; off: not at all; trusted: without a box where the system offers none.",
});

// Settings about the server of `serve` and `worker`: where it answers, and who may ask.

const serverSettings = {
  listen: one("an address like 127.0.0.1:8737", (value) => parseListen(value))
    .prefault("127.0.0.1:8737")
    .meta({
      description:
        "Address and port of `serve` and `worker`; any address other than this machine itself needs a server key.",
    }),
  server_key: one("a key", (value) => {
    const problem = keyProblem(value);
    return problem === null ? value : flaw(problem);
  })
    .optional()
    .meta({ description: "Key for page, API and metrics of the server. Better kept in a file of its own." }),
  server_key_file: text
    .optional()
    .meta({ description: "File that holds the server key.", examples: ["~/.config/duckmirror/server-key"] }),
  tls_cert_file: text
    .optional()
    .meta({ description: "Certificate (PEM) of page, API and metrics; with tls_key_file the server uses https only." }),
  tls_key_file: text.optional().meta({ description: "Private key (PEM) of tls_cert_file." }),
  snapshot_bytes_per_minute: one("a size like 2GiB, or none", (value) => {
    if (/^(none|null|off)$/i.test(value)) return { most: null };
    const bytes = parseBytes(value);
    return bytes === null || bytes === 0 ? null : { most: bytes };
  })
    .transform((found): number | null => found.most)
    .prefault("8GiB")
    .meta({
      description:
        "Bytes of snapshots that one reader (a key at an address) gets in a minute over HTTP; none: no limit.",
    }),
  require_key: yesNo.prefault(false).meta({
    description:
      "Require a key on this machine, too; if there is none, `serve` and `worker` create it in state/server-key.",
  }),
};

// Settings of what is kept and published: limits of the archive, and when a sync that found nothing new publishes.

/** A size, `mirror` or `keep`. */
const archiveSize = one("a size like 2GiB, mirror, or keep", (value) => {
  if (/^(keep|null|none)$/i.test(value)) return { most: null };
  if (/^mirror$/i.test(value)) return { most: "mirror" as const };
  const bytes = parseBytes(value);
  return bytes === null ? null : { most: bytes };
}).transform((found): number | "mirror" | null => found.most);

export const publishSettings = {
  archive_retention_days: retentionDays.prefault(90).meta({
    description:
      "Days a response stays in the archive; keep: for ever. Before older ones are removed, a proven copy of the mirror becomes the baseline from which `replay` starts.",
  }),
  archive_max_size: archiveSize.prefault("mirror").meta({
    description:
      "Largest size of the archive: a size; mirror: the size of the snapshot, at least 256 MiB; keep: no limit.",
  }),
  publish_unchanged_every: duration.prefault("6h").meta({
    description:
      "A sync that finds nothing new replaces the snapshot only when it has this age, because that writes the whole file; `0s`: each sync replaces it.",
  }),
  publish_unchanged_below: one("a size like 32MiB", (value) => parseBytes(value))
    .prefault("32MiB")
    .meta({ description: "Every sync replaces a snapshot smaller than this." }),
  keep_snapshots: keptSnapshots.meta({
    description:
      "Published snapshots that stay for readers over HTTP, the present one included: at most `count`, each for at most `age` after the next one replaced it. Each takes its whole size on disk.",
    examples: [{ count: 30, age: "30d" }],
  }),
};

// Settings about the organization's usage: how much of the request history is read, and how usage is broken down.

const BREAKDOWNS = ["endpoint", "apiKey", "day"];

export const usageSettings = {
  organization_id: text.optional().meta({
    description: "Organization whose usage to read (`organizationId`); unset: the token's organization.",
  }),
  usage_history_days: one("a whole number of days from 0 to 3650", (value) => whole(value, 0, 3650))
    .prefault(30)
    .meta({ description: "Days of the organization's request history to read, for one credit a page; 0: read none." }),
  usage_breakdowns: many((value) => {
    const known = BREAKDOWNS.find((name) => name.toLowerCase() === value.toLowerCase());
    return known ?? flaw(`${shown(value)} is not one of ${BREAKDOWNS.join(", ")}.${didYouMean(value, BREAKDOWNS)}`);
  })
    .prefault(["endpoint"])
    .meta({
      description: "Breakdowns of the month's usage to read, one credit each: endpoint, apiKey, day.",
      examples: [["endpoint", "apiKey", "day"]],
    }),
};

// Settings that decide what a sync reads: ages, budgets and the scope of rows.

/** `stream`: the name of a stream, or the problem with it. */
const planSettings = (stream: (name: string) => string | Flaw, streams: readonly string[]) => ({
  max_age: pairs((name, value) => {
    const known = stream(name);
    if (known instanceof Flaw) return known;
    return parseDuration(value) ?? flaw(`${name}: ${shown(value)} is not a duration like 12h or 7d`);
  })
    .prefault({})
    .meta({
      description: "Age at which a stream's rows are read again, even without a sign of a change.",
      examples: [{ accounts: "7d", signal_counts: "12h" }],
    }),
  reconcile_every: duration.prefault("7d").meta({
    description:
      "How often accounts, contacts and signals are walked completely, to find deletes and changes without a date; company lists: every four times their `max_age`.",
  }),
  budgets: budgetsSetting(stream, streams),
  scope: scopeSetting,
});

// Settings about the audit trail: who did what, when (docs/AUDIT.md).

const auditSettings = {
  audit_enabled: yesNo.prefault(true).meta({
    description: "Write the audit trail: queries, syncs, erasures, keys and refused logins, without values of records.",
  }),
  audit_retention_days: retentionDays
    .prefault("90")
    .meta({ description: "Days a line stays in the audit trail; keep: for ever." }),
  audit_required: yesNo
    .prefault(false)
    .meta({ description: "Refuse an action that the audit trail cannot record; off: warn once and go on." }),
};

/** Names that the configuration may use but that are defined in higher layers. */
export interface Vocabulary {
  readonly streams: readonly string[];
  /** Opt-in fields, plain (`articleBody`) and qualified (`news_articles.articleBody`). */
  readonly content: readonly string[];
  /** Tables without a stream → the stream that fills them. */
  readonly comesWith: Readonly<Record<string, string>>;
  /** Table → allowed settings for its fields. */
  readonly fields: FieldVocabulary;
}

const looksLikeToken = (value: string) => /^eyJ[\w-]+\.[\w-]+\./.test(value);

const baseUrl = one("an http(s) address", (value) => {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return flaw(`${shown(value)} is not an http(s) address like https://api.example.com`);
  }
  if (url.username !== "" || url.password !== "") {
    return flaw("the address carries a user name or password; the token is configured apart from it");
  }
  if (url.search !== "" || url.hash !== "") return flaw("the address must not have a query or fragment");
  // The prefix is kept; a trailing slash would double the one in "/v1/...".
  return url.href.replace(/\/+$/, "");
});

const token = one("a token", (value) => {
  const bare = value.replace(/^bearer\s+/i, "");
  if (bare === "") return null;
  return /^[\x21-\x7e]+$/.test(bare) ? bare : flaw("the token contains spaces or characters no header can carry");
});

const tokenFile = one("a path", (value) => {
  if (looksLikeToken(value)) return flaw("this is a token, not the path of a file that holds one");
  return value === "" ? null : value;
});

const knownStream = (vocabulary: Vocabulary) => (name: string) => {
  if (vocabulary.streams.includes(name)) return name;
  const carrier = vocabulary.comesWith[name];
  if (carrier !== undefined) return flaw(`${name} is no stream of its own: it comes with ${carrier}`);
  return flaw(
    `${shown(name)} is not a stream (${vocabulary.streams.join(", ")}).${didYouMean(name, vocabulary.streams)}`,
  );
};

const knownContent = (vocabulary: Vocabulary) => (name: string) => {
  if (vocabulary.content.includes(name)) return name;
  const plain = vocabulary.content.filter((field) => !field.includes("."));
  return flaw(`${shown(name)} is not an opt-in field (${plain.join(", ")}).${didYouMean(name, vocabulary.content)}`);
};

/** Schema of all settings, by their name in duckmirror.yaml. Output: parsed values; paths not yet resolved. */
export const settingsSchema = (vocabulary: Vocabulary) => {
  const stream = knownStream(vocabulary);
  return z.strictObject({
    base_url: baseUrl
      .optional()
      .meta({ description: "Address of the service; a path prefix is kept.", examples: ["https://api.example.com"] }),
    token: token.optional().meta({
      description: "Access token. Better kept in the environment or a file of its own than in duckmirror.yaml.",
    }),
    token_file: tokenFile
      .optional()
      .meta({ description: "File that holds the access token.", examples: ["~/.config/duckmirror/token"] }),
    token_command: z
      .union([text, z.array(plainText).min(1)], { error: "is neither a text nor a list of program and arguments" })
      .optional()
      .meta({
        description:
          "Command that prints the access token, as a list of program and arguments or as a text for the system's shell.",
        examples: ["pass show duckmirror"],
      }),
    data_dir: text.prefault("./data").meta({ description: "Where warehouse, state, archive and exports live." }),
    rate_limit: rateLimit.prefault("auto").meta({
      description: "Requests per minute, a plan (free, build, scale, pro), or auto: as the service reports.",
    }),
    pacing: choice(["burst", "even"]).prefault("burst").meta({
      description: "`burst`: what the rate limit's window allows is sent at once. `even`: spread over the window.",
    }),
    max_credits: one("a whole number of credits", (value) => whole(value, 0))
      .optional()
      .meta({ description: "Credits one run may spend; unset: what the organization has left.", examples: [500] }),
    reserve: one("a whole number of credits", (value) => whole(value, 0))
      .prefault(0)
      .meta({ description: "Credits of the organization that duckmirror never spends." }),
    pace: choice(["greedy", "even"])
      .prefault("greedy")
      .meta({ description: "greedy: spend the credits now. even: spread them over the days until the reset." }),
    companies: many((value) => value)
      .prefault([])
      .meta({
        description: "Companies to follow besides tracked accounts: id, domain, website, stock symbol, profile URL.",
        examples: [["example.com", "ACME"]],
      }),
    streams: some(stream, "names no stream; leave it out to mirror all")
      .optional()
      .meta({ description: "Streams to mirror; unset: all.", examples: [["accounts", "contacts", "signals"]] }),
    content: many(knownContent(vocabulary))
      .prefault([])
      .meta({
        description:
          "Heavy opt-in fields to fetch as well: fullContent (signals, filings), insights (companies), articleBody, jobDescription, fullTranscript, generatedAnalysis; `plan --with` says what each costs.",
        examples: [["articleBody", "fullTranscript"]],
      }),
    view: choice(["default", "export"])
      .prefault("default")
      .meta({ description: "The `view` query parameter, where a route offers it." }),
    max_page_size: one("a whole number from 1 to 100000", (value) => whole(value, 1, 100_000))
      .prefault(1000)
      .meta({ description: "Rows of the largest page to request. If the service grants fewer, it costs nothing." }),
    max_body_bytes: one("a size like 64MiB, at least 1 KiB", (value) => {
      const bytes = parseBytes(value);
      return bytes !== null && bytes >= 1024 && bytes <= 2 ** 30 ? bytes : null;
    })
      .prefault("64MiB")
      .meta({ description: "Largest response body accepted, decompressed; at most 1 GiB." }),
    connect_timeout: duration.prefault("10s").meta({ description: "How long connecting may take." }),
    headers_timeout: duration
      .prefault("60s")
      .meta({ description: "How long the service may take to start answering." }),
    body_timeout: duration.prefault("60s").meta({ description: "Longest pause within a response body." }),
    request_timeout: duration.prefault("5m").meta({ description: "How long one request may take altogether." }),
    concurrency: one("a whole number from 1 to 256", (value) => whole(value, 1, 256))
      .prefault(32)
      .meta({ description: "Most requests in flight at once; the rate limit applies in addition." }),
    max_delete_share: one("a share from 0 to 1", (value) => {
      const share = /^(\d+(\.\d+)?|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
      return share >= 0 && share <= 1 ? { share } : null;
    })
      .transform((found) => found.share)
      .prefault(0.5)
      .meta({ description: "Largest share of a table that one sync may delete without --allow-mass-delete." }),
    ...fieldSettings(vocabulary.fields, [...vocabulary.streams, ...Object.keys(vocabulary.comesWith)]),
    allow_plain_http: yesNo
      .prefault(false)
      .meta({ description: "Send the token over http:// to a host that is not this machine." }),
    history_retention_days: retentionDays
      .prefault("keep")
      .meta({ description: "Days a superseded or deleted version stays in history.*; keep: for ever." }),
    ...publishSettings,
    checks: text.optional().meta({
      description:
        "Folder of `.sql` files, each a query for rows that must not be; rows of a check with severity error keep the present snapshot.",
      examples: ["checks"],
    }),
    ledger_retention_days: retentionDays.prefault("400").meta({
      description:
        "Days that runs, requests, rejected records and readings of usage are kept, at least 31 and the present credit period; keep: for ever.",
    }),
    ...auditSettings,
    ...usageSettings,
    ...planSettings(stream, vocabulary.streams),
    sync_every: duration.prefault("1d").meta({
      description: "How often you sync: `plan` estimates with it, and pace even divides the credits by it.",
    }),
    sync_timeout: timeLimit
      .prefault("none")
      .meta({ description: "How long one sync may run, e.g. 2h; the next one continues from there. none: no limit." }),
    schedule: z
      .unknown()
      .transform((value, ctx): readonly Schedule[] => {
        const parsed = parseSchedules(value, (name) => {
          const known = stream(name);
          return known instanceof Flaw ? known.message : null;
        });
        if (typeof parsed !== "string") return parsed;
        ctx.addIssue({ code: "custom", message: parsed });
        return z.NEVER;
      })
      .prefault("17 5 * * *")
      .meta({
        description: "When `worker` syncs: a cron expression, or a list with streams and time zone; off: never.",
        examples: [[{ cron: "*/15 * * * *", streams: ["signals"], time_zone: "Europe/Berlin", jitter: "30s" }]],
      }),
    export_formats: many((value) => {
      const format = value.toLowerCase();
      return ["parquet", "csv", "ndjson", "none"].includes(format)
        ? format
        : flaw(`${shown(value)} is not one of parquet, csv, ndjson, none`);
    })
      .transform((formats) => formats.filter((format) => format !== "none"))
      .prefault(["parquet"])
      .meta({ description: "Formats that `worker` exports after each sync: parquet, csv, ndjson; none: no export." }),
    export_guard_formulas: yesNo
      .prefault(false)
      .meta({ description: "In CSV that `worker` exports, put a quote before cells that a spreadsheet would run." }),
    home: text.optional().meta({
      description:
        "Where the mirror's working state is kept, so that any worker can go on with it: `s3://bucket/prefix`, `gs://`, `az://` or a folder; settings of the store follow as `?endpoint=…&region=…`. Profiles that share one have each a folder in it.",
      examples: ["s3://acme/mirrors"],
    }),
    destinations: destinationsSetting(
      (name) => vocabulary.streams.includes(name) || Object.hasOwn(vocabulary.comesWith, name),
    ),
    alerts: alertsSetting,
    memory: one("a share of the machine like 25%, or a size like 2GiB, at least 512MiB", (value) => parseMemory(value))
      .prefault("25%")
      .meta({
        description:
          "Most memory that the process may take: a size, or a share of the machine's or container's memory (at least 1 GiB if it has that much). DuckDB starts with 256 MiB and takes more only for work that needs more.",
      }),
    max_syncs: one("a whole number from 1 to 1000", (value) => whole(value, 1, 1000))
      .prefault(8)
      .meta({ description: "Most syncs a worker runs at once, each of another profile." }),
    ...serverSettings,
    user_sql: userSqlSetting,
    log_level: choice(["trace", "debug", "info", "warn", "error", "silent"])
      .prefault("info")
      .meta({ description: "Least important messages that are logged." }),
    log_format: choice(["pretty", "json"])
      .prefault("pretty")
      .meta({ description: "Log lines for people (pretty) or for machines (json)." }),
    redis_url: one("a redis:// or rediss:// address", (value) =>
      URL.canParse(value) && /^rediss?:$/.test(new URL(value).protocol)
        ? value
        : flaw("this is not an address like redis://localhost:6379"),
    )
      .optional()
      .meta({
        description: "Redis shared by several machines; unset: everything runs in this process.",
        examples: ["redis://localhost:6379"],
      }),
  });
};

export type SettingName = keyof z.output<ReturnType<typeof settingsSchema>>;

const NO_VOCABULARY: Vocabulary = { streams: [], content: [], comesWith: {}, fields: {} };

/** Every setting: name, description, default as text (null: none), an example. In the order of the schema. */
export const settingList = () =>
  Object.entries(settingsSchema(NO_VOCABULARY).shape).map(([name, schema]) => {
    const meta = z.globalRegistry.get(schema) ?? {};
    const fallback = "def" in schema && "defaultValue" in schema.def ? schema.def.defaultValue : null;
    const example: unknown = Array.isArray(meta.examples) ? meta.examples[0] : null;
    return { name, description: meta.description ?? "", fallback, example };
  });

/** Settings of the whole process, shared by its profiles. */
export const PROGRAM_WIDE: readonly string[] = [
  "redis_url",
  "listen",
  "server_key",
  "server_key_file",
  "require_key",
  "tls_cert_file",
  "tls_key_file",
  "user_sql",
  "memory",
  "max_syncs",
  "log_level",
  "log_format",
];

/** JSON Schema of duckmirror.yaml, for editors. */
export const settingsJsonSchema = () => {
  const schema = z.toJSONSchema(settingsSchema(NO_VOCABULARY), {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const examples = z.globalRegistry.get(zodSchema)?.examples;
      if (Array.isArray(examples)) jsonSchema.examples = examples;
    },
  });
  const own = Object.entries(schema.properties ?? {}).filter(([name]) => !PROGRAM_WIDE.includes(name));
  const profile = { type: "object", properties: Object.fromEntries(own), additionalProperties: false } as const;
  const description = "Organization → settings of its own. They override the environment and the rest of the file.";
  const profiles = { description, type: "object", additionalProperties: profile } as const;
  return { ...schema, properties: { ...schema.properties, profiles } };
};
