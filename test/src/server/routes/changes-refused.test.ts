// A change feed that cannot be read, because its changes are no longer kept. The command, the API and the library say the same.
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMirror } from "../../../../src/library/mirror.ts";
import { pruneHistory } from "../../../../src/warehouse/file/upkeep/history-retention.ts";
import { change } from "../../../support/change-mirror.ts";
import { aFolder, cli } from "../../../support/cli.ts";
import { aServer, serving } from "../../../support/served.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../../warehouse/checkpoints.ts";
import { HERE } from "../served-mirror.ts";

interface Refusal {
  readonly exitCode: number;
  readonly status: number;
  readonly said: string;
  readonly code: unknown;
}

/** What each way in answers to a reader at `after`. */
const ask = async (dataDir: string, after: number): Promise<Refusal> => {
  const { code: exitCode, err } = await cli(["changes", "--data-dir", dataDir, "--after", String(after)]);
  const { app } = await aServer(serving(join(dataDir, "warehouse.duckdb")));
  const answer = await app.inject({ url: `/api/changes?after=${after}`, headers: HERE });
  const mirror = createMirror({ folder: dataDir, settings: { data_dir: "." } });
  const found = await mirror
    .changes({ after })
    [Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error);
  expect(found).toMatchObject({ code: answer.json().error.code });
  return { exitCode, status: answer.statusCode, said: err, code: answer.json().error.code };
};

/** A mirror whose changes up to number 3 are no longer kept; 4 is the last one. */
const aPrunedMirror = async (): Promise<string> => {
  const dataDir = aFolder();
  const DAY_MS = 86_400_000;
  await change(dataDir, async (warehouse) => {
    for (const [day, headline] of [
      [0, "a"],
      [1, "b"],
      [2, "c"],
      [40, "d"],
    ] as const) {
      const load = aLoad("signals", [aSignal(1, { headline })], { receivedAt: T0 + day * DAY_MS });
      await warehouse.commit(aCheckpoint([load]));
    }
    await pruneHistory(warehouse.database, 30, T0 + 41 * DAY_MS);
  });
  return dataDir;
};

test("a cursor whose changes are no longer kept is refused with the numbers to continue at, by command, API and library", async () => {
  const dataDir = await aPrunedMirror();
  const { said, ...rest } = await ask(dataDir, 1);
  expect(rest).toEqual({ exitCode: 2, status: 410, code: "CHANGES_GONE" });
  expect(said).toContain("CHANGES_GONE");
  expect(said).toMatch(/those up to 3 are gone[\s\S]*after 4/);
  // The same reader, where the changes are kept.
  const { code, out } = await cli(["changes", "--data-dir", dataDir, "--after", "3"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^4 .*d: headline c → d\n$/)]);
});
