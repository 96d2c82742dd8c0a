// Profiles: several organizations in one file, each with settings of its own, and nothing of one in another.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig, loadProfiles } from "../../../../src/core/config/config.ts";
import type { DuckmirrorError } from "../../../../src/core/errors.ts";
import { aFolder } from "../../../support/cli.ts";

const vocabulary = { streams: ["accounts", "signals"], content: [], comesWith: {}, fields: {} };

const within = (yaml: string, env: Record<string, string> = {}) => {
  const cwd = aFolder();
  writeFileSync(join(cwd, "duckmirror.yaml"), yaml);
  return { env, cwd, vocabulary };
};

const TWO = `base_url: https://api.example.com
rate_limit: build
data_dir: mirrors
profiles:
  acme:
    token_file: acme.token
    rate_limit: pro
  globex:
    token_file: globex.token
    data_dir: elsewhere
`;

const refusal = (load: () => unknown): DuckmirrorError["code"] | string => {
  try {
    load();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "accepted";
};

test("each profile has its own settings, and those above it where it has none", () => {
  const input = within(TWO);
  const [acme, globex] = loadProfiles(input);
  expect([acme?.profile, globex?.profile]).toEqual(["acme", "globex"]);
  expect([acme?.rateLimitPerMinute, globex?.rateLimitPerMinute]).toEqual([300, 60]);
  expect(acme?.baseUrl).toBe("https://api.example.com");
  expect(acme?.token).toEqual({ kind: "file", path: join(input.cwd, "acme.token") });
});

test("each profile has a folder of its own in the data directory, or the one it names", () => {
  const input = within(TWO);
  expect(loadProfiles(input).map(({ dataDir }) => dataDir)).toEqual([
    join(input.cwd, "mirrors", "acme"),
    join(input.cwd, "elsewhere"),
  ]);
  const moved = loadConfig({ ...input, profile: "acme", flags: { data_dir: "/srv/mirrors" } });
  expect(moved.dataDir).toBe("/srv/mirrors/acme");
});

test("a token in the environment does not get into a profile that has one of its own", () => {
  const input = within(TWO, { DUCKMIRROR_TOKEN: "token-of-somebody-else", DUCKMIRROR_RATE_LIMIT: "7" });
  const [acme, globex] = loadProfiles(input);
  expect(acme?.token?.kind).toBe("file");
  expect([acme?.rateLimitPerMinute, globex?.rateLimitPerMinute]).toEqual([300, 7]);
});

test("a flag overrides a profile's own setting", () => {
  expect(loadConfig({ ...within(TWO), profile: "acme", flags: { rate_limit: "5" } }).rateLimitPerMinute).toBe(5);
});

test("with several profiles one must be named, by flag or environment, and exist", () => {
  expect(refusal(() => loadConfig(within(TWO)))).toMatch(/the profiles acme, globex; none was named/);
  expect(loadConfig(within(TWO, { DUCKMIRROR_PROFILE: "globex" })).profile).toBe("globex");
  expect(refusal(() => loadConfig({ ...within(TWO), profile: "acne" }))).toMatch(/"acne" is not one of them.*acme/);
  expect(refusal(() => loadConfig({ ...within("pace: even\n"), profile: "acme" }))).toMatch(/no profiles/);
});

test("a configuration without profiles is one profile named default, in the data directory itself", () => {
  const input = within("data_dir: mirror\n");
  expect(loadProfiles(input).map(({ profile, dataDir }) => [profile, dataDir])).toEqual([
    ["default", join(input.cwd, "mirror")],
  ]);
  expect(loadConfig({ ...input, profile: "default" }).dataDir).toBe(join(input.cwd, "mirror"));
});

test.each([
  ["two profiles in one data directory", "profiles:\n  a: { data_dir: x }\n  b: { data_dir: x }\n", /a and b have/],
  ["an unknown setting in a profile", "profiles:\n  a:\n    rate_limits: 3\n", /line 3\) is not a setting.*rate_limit/],
  ["a setting of the whole program", "profiles:\n  a:\n    redis_url: redis://x\n", /belongs to the program/],
  ["a name that is no file name", 'profiles:\n  "../a":\n    view: export\n', /made of letters/],
  ["profiles that are a list", "profiles: [a, b]\n", /must map names to settings/],
  ["a profile that is a text", "profiles:\n  a: b\n", /profile a must hold settings/],
])("refused: %s", (_, yaml, message) => {
  expect(refusal(() => loadProfiles(within(yaml)))).toMatch(message);
});

test("schedules: cron, streams, time zone and jitter; a plain expression; off", () => {
  const yaml = `schedule:
  - cron: "*/15 * * * *"
    streams: [signals]
    time_zone: Europe/Berlin
    jitter: 30s
  - { cron: "0 4 * * *", streams: "signals, ", full: Yes }
  - "0 3 * * 0"
`;
  expect(loadConfig(within(yaml)).schedules).toEqual([
    { cron: "*/15 * * * *", timeZone: "Europe/Berlin", jitterMs: 30_000, streams: ["signals"], full: false },
    { cron: "0 4 * * *", timeZone: "UTC", jitterMs: 0, streams: ["signals"], full: true },
    { cron: "0 3 * * 0", timeZone: "UTC", jitterMs: 0, streams: [], full: false },
  ]);
  for (const none of ["off", " None "]) expect(loadConfig(within(`schedule: "${none}"\n`)).schedules).toEqual([]);
  expect(loadConfig(within("", { DUCKMIRROR_SCHEDULE: "5 4 * * *" })).schedules[0]?.cron).toBe("5 4 * * *");
  expect(loadConfig(within("")).schedules).toHaveLength(1);
});

test("export formats of the worker: parquet by default, none for nothing", () => {
  expect(loadConfig(within("")).exportFormats).toEqual(["parquet"]);
  expect(loadConfig(within("export_formats: [csv, parquet]\n")).exportFormats).toEqual(["csv", "parquet"]);
  expect(loadConfig(within("export_formats: none\n")).exportFormats).toEqual([]);
  expect(refusal(() => loadConfig(within("export_formats: xlsx\n")))).toMatch(/xlsx.*not one of/);
});

test("what all profiles share is prepared once, however many there are", () => {
  const names = Array.from({ length: 50 }, (_, nth) => `  p${nth}: { token: token-${nth} }\n`);
  const { fields, ...others } = vocabulary;
  let reads = 0;
  const counted = {
    ...others,
    get fields() {
      reads += 1;
      return fields;
    },
  };
  const input = { ...within(`profiles:\n${names.join("")}`), vocabulary: counted };
  expect(loadProfiles(input)).toHaveLength(50);
  // Once for the schema of settings, and once per profile for its own fields.
  expect(reads).toBeLessThanOrEqual(51);
});

const nested = (levels: number, width: number): string =>
  [
    "a0: &a0 [x]",
    ...Array.from({ length: levels }, (_, nth) => `a${nth + 1}: &a${nth + 1} [${`*a${nth},`.repeat(width)}]`),
  ].join("\n");

test.each([
  ["aliases in aliases", nested(9, 9), /Excessive alias count/],
  [
    "a long text repeated",
    `a: &a ${"x".repeat(1_000_000)}\nb: [${"*a,".repeat(50)}]`,
    /its aliases repeat 50000000 characters/,
  ],
  ["a text without its end", 'view: "export', /duckmirror\.yaml, line/],
  ["a list of settings", "- a", /must hold settings/],
  ["lists in lists", `a: ${"[".repeat(5_000)}`, /call stack/],
  [
    "several documents",
    "rate_limit: 1\n---\nrate_limit: 2\n",
    /line 2: it holds several documents; remove the lines `---`/,
  ],
  ["a name twice", "rate_limit: 1\nrate_limit: 2", /line 2: Map keys must be unique/],
  ["a name twice in a setting", "scope:\n  contacts: { type: a, type: b }", /line 2: Map keys must be unique/],
  ["a file without an end", "#".repeat(5 * 1024 * 1024), /it holds more than 4194304 bytes/],
])("%s is refused in a sentence", (_, yaml, why) => {
  expect(refusal(() => loadConfig(within(yaml)))).toMatch(why);
});

test("a file of many names is read in seconds", () => {
  const yaml = Array.from({ length: 5_000 }, (_, nth) => `k${nth}: 1`).join("\n");
  expect(refusal(() => loadConfig(within(yaml)))).toMatch(/k0/);
});
