// Every state of a mirror and of access, in a real browser, wide and dark, narrow and light: what it says first, and that it is
// well drawn. DUCKMIRROR_PICTURES names a folder for a picture of each, at three widths, light and dark.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { addKey } from "../../src/server/access/key-store.ts";
import type { ServerOptions } from "../../src/server/http/server-context.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { expectNoSidewaysScroll, layoutShift, rigForFile, seriousFindings } from "./page-rig.ts";

const pictures = process.env.DUCKMIRROR_PICTURES ?? null;

const mirror = await mirrorForFile(8);
await mirror.sandbox.evolve(20);
await mirror.sync();
const publicMirror = await mirrorForFile(3, {}, "public");
const rig = await rigForFile();

/** The published file after some statements, as a snapshot of its own. */
const after = async (...statements: readonly string[]): Promise<string> => {
  const file = join(tempDir(), "warehouse.duckdb");
  copyFileSync(mirror.snapshot, file);
  const database = await openDatabase(file, { threads: 2 });
  for (const sql of statements) await database.run(sql);
  await database.flushWal();
  await database.close();
  return file;
};

const failedRun = (code: string) =>
  `INSERT INTO sync.runs (run_id, mode, status, started_at, finished_at, forecast, summary, error)
   VALUES ('run-failed', 'incremental', 'failed', now(), now(), '{"requests":3}', '{}', '${code}')`;

/** A contact two million times, with ids of their own. */
const TWO_MILLION = `INSERT INTO contacts SELECT c.* REPLACE (c.id || '-' || i AS id)
  FROM (SELECT * FROM contacts ORDER BY id LIMIT 1) c, range(2000000) t(i)`;

const EMPTY = [
  "contacts",
  "signals",
  "accounts",
  "companies",
  "news_articles",
  "job_openings",
  "earnings_calls",
  "filings",
].map((table) => `DELETE FROM main.${table}`);

const progress = async () => ({
  run_id: "run-1",
  started_at: Date.now() - 90_000,
  heartbeat_at: Date.now(),
  requests: 41,
  credits: 40,
  rows: 3_204,
  waiting: null,
  streams: ["accounts", "contacts", "signals"].map((stream, at) => ({
    stream,
    state: at === 0 ? "idle" : "reading",
    requests: 10,
    credits: 10,
    rows: 1_000 + at,
    pages_done: 10,
    pages_total: 10 + 12 * at,
  })),
});

type Profile = ServerOptions["profiles"][number];
const named = (snapshot: string, more: Partial<Profile> = {}): Profile => ({
  name: "default",
  snapshot,
  ratePerMinute: 300,
  ...more,
});

interface State {
  readonly name: string;
  /** What its first screen says. */
  readonly says: RegExp;
  readonly options: () => Promise<Partial<ServerOptions> & Pick<ServerOptions, "profiles">>;
  readonly paths?: readonly string[];
  /** A server key that the browser sends. */
  readonly key?: () => string;
}

let reader = new Secret("0123456789abcdef0123456789abcdef");

const one = (name: string, says: RegExp, statements: readonly string[], more: Partial<Profile> = {}): State => ({
  name,
  says,
  options: async () => ({ profiles: [named(await after(...statements), more)] }),
});

const STATES: readonly State[] = [
  one("complete", /Complete and current as of .*Credits last until the reset/, []),
  one("empty", /Complete and current/, EMPTY),
  {
    name: "first load",
    says: /The first sync is running/,
    options: async () => ({ profiles: [named(join(tempDir(), "warehouse.duckdb"), { progress })] }),
  },
  one("running", /Complete and current/, [], { progress }),
  one("unconfirmed", /is incomplete: contacts/, [
    "UPDATE sync.stream_state SET unconfirmed = 12, unconfirmed_because = 'the service counts 12 rows more' WHERE stream = 'contacts'",
  ]),
  one("failing", /The last run failed/, [
    failedRun("SERVICE_FAILING"),
    "UPDATE sync.stream_state SET status = 'failed', error = 'HTTP 500' WHERE stream IN ('contacts', 'news')",
  ]),
  {
    name: "refused token",
    says: /cannot sync this profile: The service refused the token/,
    options: async () => ({
      profiles: [named(await after(failedRun("CREDENTIALS_REFUSED")))],
      triggers: {
        start: async () => ({ runId: "1", joined: false }),
        find: async () => null,
        cancel: async () => true,
      },
      unable: () => [
        {
          profile: "default",
          code: "CREDENTIALS_REFUSED",
          message: "The service refused the token.",
          hint: "Set another one.",
        },
      ],
    }),
  },
  one("out of credits", /Out of credits until/, [
    'UPDATE main.usage_snapshots SET remaining = 0, used = "limit", resets_at = now() + INTERVAL 3 DAY',
    "DELETE FROM sync.stream_state WHERE stream IN ('signals', 'filings', 'news')",
  ]),
  {
    name: "public tier",
    says: /Complete and current|incomplete/,
    options: async () => ({ profiles: [named(publicMirror.snapshot)] }),
    paths: ["/", "/accounts", "/tables"],
  },
  {
    name: "ten organizations",
    says: /Complete and current/,
    options: async () => ({
      profiles: Array.from({ length: 10 }, (_, at) => named(mirror.snapshot, { name: `organization-${at + 1}` })),
    }),
  },
  {
    name: "two million rows",
    says: /Complete and current/,
    options: async () => ({ profiles: [named(await after(TWO_MILLION))] }),
    paths: ["/", "/tables", "/tables/contacts", "/accounts"],
  },
  one("service away", /The last run failed \(SERVICE_UNREACHABLE\)/, [failedRun("SERVICE_UNREACHABLE")]),
  {
    name: "read-only key",
    says: /Complete and current/,
    key: () => reader.reveal(),
    options: async () => {
      const keyFile = join(tempDir(), "keys.json");
      reader = await addKey(keyFile, { name: "reader", role: "read", expiresAt: null }, Date.now());
      const triggers = {
        start: async () => ({ runId: "1", joined: false }),
        find: async () => null,
        cancel: async () => true,
      };
      return { profiles: [named(mirror.snapshot)], triggers, keyFile };
    },
  },
  {
    name: "no key",
    says: /Server key/,
    options: async () => ({ profiles: [named(mirror.snapshot)], key: new Secret("0123456789abcdef0123456789abcdef") }),
  },
];

/** pages.long.test.ts shows the width between them: the states differ in what they say. */
const LOOKS =
  pictures === null
    ? [
        { width: 1280, dark: true },
        { width: 360, dark: false },
      ]
    : [1280, 768, 360].flatMap((width) => [false, true].map((dark) => ({ width, dark })));

test.each(STATES)("$name: what it says first, wide and dark, narrow and light", async (state) => {
  const { url } = await rig.serve(await state.options());
  for (const path of state.paths ?? ["/"]) {
    for (const { width, dark } of LOOKS) {
      const isLogin = state.name === "no key";
      const opened = await rig.open(`${url}${path}`, {
        width,
        dark,
        settled: !isLogin,
        ...(state.key === undefined ? {} : { key: state.key() }),
      });
      const { page, complaints } = opened;
      const where = `${state.name} ${path} ${width} ${dark ? "dark" : "light"}`;
      if (path === "/")
        expect.soft(await page.locator(isLogin ? "body" : "#content").textContent(), where).toMatch(state.says);
      expect.soft(await seriousFindings(page), where).toEqual([]);
      expect.soft(await layoutShift(page), where).toBeLessThanOrEqual(0.02);
      await expectNoSidewaysScroll(page);
      expect
        .soft(
          complaints.filter((text) => !text.includes("503")),
          where,
        )
        .toEqual([]);
      if (pictures !== null) {
        const name = where.replaceAll(/[ /]+/g, "-");
        await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
});
