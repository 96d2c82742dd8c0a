// A short attack on the fence; `npm run attack` makes a long one.
import { expect, test } from "vitest";
import { plainProgram } from "../../src/core/program-files.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { attack } from "./attack.ts";

const LAUNCHER = "src/warehouse/user-sql/fence/launcher";

test("known faults and 150 generated statements reach nothing outside the fence", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const found = await attack(tempDir(), plainProgram(LAUNCHER).file, { count: 150, seed });
  for (const { family, statements, answered, refused, crashed, slow, reached } of found) {
    expect(reached, `${family}, seed ${seed}`).toEqual([]);
    expect(answered + refused + crashed + slow).toBe(statements);
    expect(answered).toBeGreaterThan(0);
  }
});
