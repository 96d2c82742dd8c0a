// Responses by id while each run's archive is read once: in order, out of order, passed by, missing.
import { expect, test } from "vitest";
import { createRunAnswers } from "../../../../src/sync/recovery/replay.ts";
import { openArchive } from "../../../../src/warehouse/archive/archive.ts";
import { aHeader } from "../../../support/memory-archive.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const BODY = '{"data":[],"meta":{}}';

/** Archives of these runs, each with the responses of these ids. */
const archived = async (runs: Readonly<Record<string, readonly string[]>>): Promise<string> => {
  const dir = tempDir();
  for (const [runId, ids] of Object.entries(runs)) {
    const archive = openArchive({ dir, runId, now: 0 });
    for (const requestId of ids) {
      await archive.response(aHeader({ requestId, runId }), { bytes: Buffer.from(BODY), encoding: "identity" });
    }
    await archive.flush();
    await archive.close();
  }
  return dir;
};

test("each response is found once, in any order, and passed ones are skipped", async () => {
  const answers = createRunAnswers(await archived({ r1: ["a", "b", "c", "d", "e"], r2: ["a"] }), null);
  const take = async (runId: string, id: string) => (await answers.of(runId).take(id))?.header.requestId ?? null;
  expect(await take("r1", "c")).toBe("c");
  expect(await take("r1", "a")).toBe("a");
  // One that was read already, and one that still comes.
  answers.of("r1").pass("b");
  answers.of("r1").pass("d");
  expect(await take("r1", "b")).toBeNull();
  expect(await take("r1", "e")).toBe("e");
  expect(await take("r2", "a")).toBe("a");
  expect(await take("r3", "a")).toBeNull();
  await answers.closeAll();
});

test("a passed response that still comes does not take the place of the one that is asked for", async () => {
  const answers = createRunAnswers(await archived({ r: ["a", "b"] }), null);
  answers.of("r").pass("a");
  expect((await answers.of("r").take("b"))?.header.requestId).toBe("b");
  expect(await answers.of("r").take("a")).toBeNull();
  await answers.close("r");
});

test("a run whose archive was closed is read from its beginning again", async () => {
  const answers = createRunAnswers(await archived({ r: ["a"] }), null);
  expect(await answers.of("r").take("a")).not.toBeNull();
  await answers.close("r");
  expect(await answers.of("r").take("a")).not.toBeNull();
  await answers.closeAll();
});
