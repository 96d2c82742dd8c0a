// Changes at the service reach the mirror: with --full all of them, without it those an incremental sync promises.
import { join } from "node:path";
import { expect, test } from "vitest";
import { aSandbox, syncWell } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";
import { isNoFullText, trackedDifferences } from "./tracked.ts";

const dataDir = tempFolder();
const snapshot = join(dataDir, "warehouse.duckdb");

const sandbox = await aSandbox({ seed: 21, accounts: 25 });
await syncWell(sandbox, dataDir);

test("an incremental sync brings accounts, contacts and signals up to date, deletes included", async () => {
  const changes = await sandbox.evolve(60);
  for (const kind of ["insert", "update", "delete"]) expect(changes.map((change) => change.kind)).toContain(kind);
  const report = await syncWell(sandbox, dataDir);
  expect(report.mode).toBe("incremental");
  const { accounts = new Map(), contacts = new Map(), signals = new Map() } = await readService(sandbox);
  expect(await differences(snapshot, { accounts, contacts, signals }, isNoFullText)).toEqual([]);
});

test("a full sync brings everything up to date, deletes included", async () => {
  const changes = await sandbox.evolve(120);
  for (const kind of ["insert", "update", "delete"]) expect(changes.map((change) => change.kind)).toContain(kind);
  await syncWell(sandbox, dataDir, ["--full"]);
  expect(await trackedDifferences(snapshot, sandbox)).toEqual([]);
});
