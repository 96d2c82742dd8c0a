// createMirror: settings in, reports and rows out; what goes wrong is an error with a code.
import { expect, test } from "vitest";
import { createMirror, DuckmirrorError, type ProgressEvent, type Settings } from "../../../src/library/mirror.ts";
import { startSandbox } from "../../../src/sandbox/sandbox.ts";
import { aFolder } from "../../support/cli.ts";
import { forFile } from "../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ accounts: 3, requestsPerMinute: 6000, threads: 1 }));

const mirrorIn = (folder: string, settings: Settings = {}) =>
  createMirror({ folder, settings: { base_url: sandbox.url, token: sandbox.token, data_dir: "mirror", ...settings } });

test("plans, syncs, reports what happens, and answers questions", async () => {
  const mirror = mirrorIn(aFolder());
  const events: ProgressEvent["kind"][] = [];
  const forget = mirror.onEvent(({ kind }) => events.push(kind));
  expect((await mirror.plan({ streams: ["accounts"] })).forecast.requests).toBeGreaterThan(0);
  const { report, error } = await mirror.sync({ streams: ["accounts"] });
  expect([error, report.status]).toEqual([null, "done"]);
  expect(events).toEqual(expect.arrayContaining(["run-started", "page", "published"]));
  const { columns, rows } = await mirror.query("SELECT count(*) AS accounts FROM accounts");
  expect([columns[0]?.name, String(rows[0]?.[0])]).toEqual(["accounts", "3"]);
  forget();
  const heard = events.length;
  await mirror.sync({ streams: ["accounts"] });
  expect(events).toHaveLength(heard);
});

test("members of a request that are not documented reach no job", async () => {
  const mirror = mirrorIn(aFolder());
  const asked = { streams: ["accounts"], runId: "of-the-caller", reset: ["signals"] };
  const { report } = await mirror.sync(asked);
  expect(report.run_id).not.toBe(asked.runId);
  expect(report.streams.map(({ stream }) => stream)).toEqual(["accounts"]);
  expect((await mirror.plan(asked)).forecast.streams.map(({ stream }) => stream)).toEqual(["accounts"]);
});

test("delivers to the configured destinations, and says which failed", async () => {
  const mirror = mirrorIn(aFolder(), {
    destinations: JSON.stringify([
      { name: "files", kind: "parquet", url: "delivered" },
      { name: "crm", kind: "postgres", url_env: "NOT_SET" },
    ]),
  });
  await mirror.sync({ streams: ["accounts"] });
  const [files, crm] = await mirror.deliver();
  expect(files?.delivered?.tables.find(({ table }) => table === "accounts")?.written).toBe(3);
  expect([files?.error, crm?.delivered, crm?.error?.code]).toEqual([null, null, "CONFIG_INVALID"]);
  await expect(mirror.deliver({ names: ["other"] })).rejects.toMatchObject({ code: "DESTINATION_UNKNOWN" });
});

test("a sync whose signal is aborted ends at a checkpoint", async () => {
  const stop = new AbortController();
  const mirror = mirrorIn(aFolder());
  mirror.onEvent(({ kind }) => {
    if (kind === "page") stop.abort();
  });
  const { report, error } = await mirror.sync({ signal: stop.signal });
  expect([error?.code, report.status]).toEqual(["INTERRUPTED", "interrupted"]);
});

test("a listener that throws does not disturb the sync, which rejects with its error once all is published", async () => {
  const mirror = mirrorIn(aFolder());
  const heard: string[] = [];
  mirror.onEvent(({ kind }) => {
    if (kind === "page") throw new RangeError("of the listener");
  });
  mirror.onEvent(({ kind }) => heard.push(kind));
  await expect(mirror.sync({ streams: ["accounts"] })).rejects.toThrow("of the listener");
  expect(heard).toEqual(expect.arrayContaining(["page", "published"]));
  expect((await mirror.query("SELECT count(*)::INTEGER FROM accounts")).rows).toEqual([[3]]);
});

test("without a sync there is nothing to ask, and wrong settings are named", async () => {
  await expect(mirrorIn(aFolder()).query("SELECT 1")).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
  expect(() => mirrorIn(aFolder(), { pace: "fast" })).toThrow(DuckmirrorError);
  await expect(createMirror({ folder: aFolder() }).sync()).rejects.toMatchObject({ code: "BASE_URL_MISSING" });
});

test("refuses what the file refuses: a name that is no setting spends nothing", () => {
  const settings = { base_url: sandbox.url, token: sandbox.token, max_credit: "5" };
  // As JavaScript, which knows no types, passes it.
  const refusal = "max_credit is not a setting. Did you mean max_credits?";
  expect(() => createMirror({ folder: aFolder(), settings })).toThrow(refusal);
  expect(() => createMirror({ settings })).toThrow(refusal);
  expect(() => mirrorIn(aFolder(), { max_credits: -1 })).toThrow("max_credits");
});

test("a budget that is used up is an outcome, not a rejection; settings are numbers, yes and no, lists and maps, as in the file", async () => {
  const mirror = mirrorIn(aFolder(), {
    max_credits: 2,
    allow_plain_http: true,
    streams: ["accounts", "contacts", "signals"],
    budgets: { contacts: { per_day: 1 } },
  });
  const { report, error } = await mirror.sync();
  expect([error?.code, error?.exitCode, report.status, report.credits.spent]).toEqual([
    "BUDGET_SPENT",
    4,
    "stopped",
    2,
  ]);
});
