// duckmirror changes: lines of the contract, cursor, tables, CSV, following, and what is refused.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import { createMirror } from "../../../../../src/library/mirror.ts";
import { change } from "../../../../support/change-mirror.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../../../warehouse/checkpoints.ts";
import { dirForFile } from "../../../warehouse/temp-dir.ts";

const line = z.strictObject({
  n: z.number(),
  at: z.iso.datetime(),
  run_id: z.string().nullable(),
  table: z.string(),
  key: z.record(z.string(), z.unknown()),
  change: z.enum(["insert", "update", "delete"]),
  fields: z.array(z.string()),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
});
const linesOf = (out: string) =>
  out
    .trim()
    .split("\n")
    .map((text) => line.parse(JSON.parse(text)));

const aChange = (headline: string, ...ids: number[]) => {
  const records = ids.map((id) => aSignal(id, { headline, sources: ["a"], relevance: { score: 1 } }));
  return aCheckpoint([aLoad("signals", records, { requestId: `${headline}-${ids}`, receivedAt: T0 })]);
};

const mirror = dirForFile();
await change(mirror, async (warehouse) => {
  await warehouse.commit(aChange("a", 1, 2));
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "c" }])]));
  await warehouse.commit(aChange("b", 2));
  await warehouse.deleteKeys({ table: "signals", ids: ["1"], runId: "run-2", now: T0 + 1000 });
});
/** A copy that the test may change. */
const aCopy = (): string => {
  const copy = join(aFolder(), "data");
  cpSync(mirror, copy, { recursive: true });
  return copy;
};
const changes = (...argv: string[]) => cli(["changes", "--data-dir", mirror, ...argv]);

test("--json prints one object per line, as the contract has it", async () => {
  const { code, out, err } = await changes("--json");
  expect([code, err]).toEqual([0, ""]);
  const lines = linesOf(out);
  expect(lines.map(({ n, table, change }) => [n, table, change])).toEqual([
    [1, "signals", "insert"],
    [2, "signals", "insert"],
    [3, "contacts", "insert"],
    [4, "signals", "update"],
    [5, "signals", "delete"],
  ]);
  expect(lines[3]).toMatchObject({
    // Three commits of one millisecond: each change is dated behind the one before it.
    at: "2025-01-01T00:00:00.002Z",
    run_id: "run-1",
    key: { id: 2 },
    fields: ["headline"],
    before: { id: 2, headline: "a", date: "2024-05-05T00:00:00.000Z", sources: ["a"], relevance: { score: 1 } },
    after: { id: 2, headline: "b", organization_id: "org", _extra: null },
  });
  expect(lines[0]).toMatchObject({ before: null, fields: [] });
  expect(lines[4]).toMatchObject({ key: { id: 1 }, run_id: "run-2", after: null, fields: [] });
});

test("--after, --tables and --limit choose; the numbers stay", async () => {
  const numbers = async (...argv: string[]) => linesOf((await changes("--json", ...argv)).out).map(({ n }) => n);
  expect(await numbers("--after", "3")).toEqual([4, 5]);
  expect(await numbers("--tables", "signals", "--after", "1")).toEqual([2, 4, 5]);
  expect(await numbers("--limit", "2")).toEqual([1, 2]);
  expect((await changes("--json", "--after", "5")).out).toBe("");
});

test("a terminal gets a readable line, and --csv a row per change", async () => {
  expect((await changes("--after", "3")).out).toBe(
    "4  2025-01-01T00:00:00.002Z  update  signals  id=2  b: headline a → b\n5  2025-01-01T00:00:01.000Z  delete  signals  id=1  a\n",
  );
  const [head, row] = (await changes("--after", "4", "--csv")).out.split("\r\n");
  expect(head).toBe("n,at,run_id,table,key,change,fields,before,after");
  expect(row).toMatch(/^5,2025-01-01T00:00:01.000Z,run-2,signals,"\{""id"":1\}",delete,\[\],"\{""id"":1,/);
});

test("marts.recent_changes says values, and of lists and objects only that they changed", async () => {
  const changed = { headline: "c", sources: ["b"], relevance: { score: 2 } };
  const dataDir = aCopy();
  await change(dataDir, (warehouse) =>
    warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(2, changed)], { requestId: "c", receivedAt: T0 + 2000 })])),
  );
  const sql = "SELECT sentence FROM marts.recent_changes WHERE key = '2' AND n > 4 ORDER BY field";
  const { out, err } = await cli(["query", sql, "--format", "ndjson", "--data-dir", dataDir]);
  expect(err).toBe("");
  const said = out.trim().split("\n");
  expect(said.map((text) => JSON.parse(text).sentence)).toEqual([
    "b: headline b → c",
    "b: relevance changed",
    "b: sources changed",
  ]);
});

test("--since begins with the first change from that moment on", async () => {
  const numbers = async (since: string, now = T0 + 2000) => {
    const { code, out } = await cli(["changes", "--data-dir", mirror, "--json", "--since", since], {
      clock: { now: () => now, sleep: () => Promise.reject(new Error("no wait")) },
    });
    expect(code).toBe(0);
    return out === "" ? [] : linesOf(out).map(({ n }) => n);
  };
  expect(await numbers("2025-01-01T00:00:00.500Z")).toEqual([5]);
  expect(await numbers("1s")).toEqual([5]);
  expect(await numbers("500ms")).toEqual([]);
  expect(await numbers("2025-01-01")).toEqual([1, 2, 3, 4, 5]);
  expect(await numbers("yesterday")).toEqual([1, 2, 3, 4, 5]);
  expect(await numbers("yesterday", T0 + 3 * 86_400_000)).toEqual([]);
});

test("what makes no sense is refused with a reason", async () => {
  const refused = async (...argv: string[]) => {
    const { code, out, err } = await changes(...argv);
    expect([code, out]).toEqual([2, ""]);
    return err;
  };
  expect(await refused("--after=-1")).toContain("--after");
  expect(await refused("--after", "6")).toContain("the last one is 5");
  expect(await refused("--tables", "signals,nothing")).toContain("no mirrored table nothing");
  expect(await refused("--limit", "0")).toContain("--limit");
  expect(await refused("--since", "soon")).toContain("--since");
  expect(await refused("--since", "1d", "--after", "2")).toContain("either --after or --since");
  expect((await changes("--csv", "--json")).out).toContain("either --csv or --json");
  expect(await refused("--data-dir", aFolder())).toContain("SNAPSHOT_MISSING");
});

test("--follow prints what a later publish brings, and ends with 130 when it is stopped", async () => {
  const stop = new AbortController();
  const dataDir = aCopy();
  let published: Promise<void> | null = null;
  const { code, out } = await cli(["changes", "--data-dir", dataDir, "--after", "4", "--follow", "--json"], {
    signal: stop.signal,
    clock: {
      now: () => T0,
      // The wait for a new snapshot: the test publishes one.
      sleep: async (_ms, signal) => {
        signal?.throwIfAborted();
        published ??= change(dataDir, (warehouse) => warehouse.commit(aChange("c", 2, 7)));
        await published;
      },
    },
    onOut: (text) => {
      if (text.includes('"n":7,')) stop.abort(new DuckmirrorError("INTERRUPTED"));
    },
  });
  expect(code).toBe(130);
  expect(linesOf(out).map(({ n, change }) => [n, change])).toEqual([
    [5, "delete"],
    [6, "update"],
    [7, "insert"],
  ]);
});

test("the library gives the same objects", async () => {
  const library = createMirror({ folder: mirror, settings: { data_dir: "." } });
  const found: unknown[] = [];
  for await (const change of library.changes({ after: 2, tables: ["signals"], limit: 2 })) found.push(change);
  expect(found).toEqual(linesOf((await changes("--json", "--after", "3")).out));
  const refused = library
    .changes({ tables: ["nothing"] })
    [Symbol.asyncIterator]()
    .next();
  await expect(refused).rejects.toMatchObject({ code: "USAGE" });
});
