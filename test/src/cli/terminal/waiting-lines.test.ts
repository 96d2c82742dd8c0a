// Lists that wait because their answers could not be used are named by the commands that look ahead.
import { join } from "node:path";
import { expect, test } from "vitest";
import { waitingLines } from "../../../../src/cli/terminal/waiting-lines.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { rememberTroubles } from "../../../../src/sync/plan/remembered.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { aFolder, cli } from "../../../support/cli.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";
import { json, startScriptedServer } from "../../../support/scripted-server.ts";

const HOUR_MS = 3_600_000;

test("a line names the stream, how many of its requests wait, until when, and how to ask at once", () => {
  const until = Date.UTC(2026, 10, 21, 5);
  const lines = waitingLines([
    { stream: "contacts", places: 1, until },
    { stream: "filings", places: 30, until },
  ]);
  expect(lines[0]).toBe(
    "contacts: 1 request waits until 2026-11-21 05:00 UTC: it was refused, or the answer could not be used; `duckmirror sync contacts` asks at once",
  );
  expect(lines[1]).toContain("filings: 30 requests wait until");
  expect(waitingLines([])).toEqual([]);
});

test("plan and check say what waits, and when it is asked for again", async () => {
  const cwd = aFolder();
  const dataDir = join(cwd, "data");
  await copyMigratedMirror(dataDir);
  const now = Date.now();
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  const unusable = [{ stream: "contacts", scope: "", times: 3, at: now }] as const;
  await rememberTroubles(warehouse, { unusable, doubts: [] }, now);
  await warehouse.publish();
  await warehouse.close();
  const service = await startScriptedServer();
  const usage = { limit: 50, used: 1, remaining: 49, resetsAt: "2026-04-01T00:00:00Z" };
  const answer = json({ data: [{ id: 1 }], meta: { page: 1, perPage: 1, totalCount: 1, totalPages: 1 }, usage });
  service.play(answer, answer);
  const env = { DUCKMIRROR_BASE_URL: service.origin, DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_DATA_DIR: dataDir };
  const waiting = [{ stream: "contacts", requests: 1, asked_again_at: new Date(now + 2 * HOUR_MS).toISOString() }];
  for (const command of ["plan", "check"]) {
    const { out } = await cli([command, "--json"], { env, cwd });
    expect([command, JSON.parse(out).waiting]).toEqual([command, waiting]);
    expect((await cli([command], { env, cwd })).out).toContain("contacts: 1 request waits until");
  }
  await service.close();
});
