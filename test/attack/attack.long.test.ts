// A long attack on the fence of the built program.
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { attack } from "./attack.ts";

const COUNT = Number(process.env.ATTACKS ?? "2000");

test(`${COUNT} generated statements reach nothing outside the fence`, async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const launcher = join(dirname(inject("builtCli")), "../warehouse/user-sql/fence/launcher.js");
  const found = await attack(tempDir(), launcher, { count: COUNT, seed });
  for (const { family, reached } of found) expect(reached, `${family}, seed ${seed}`).toEqual([]);
});
