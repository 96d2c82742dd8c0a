// A short attack over HTTP on the built program; `npm run attack` makes a longer one.
import { expect, inject, test } from "vitest";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { attackOverHttp } from "./over-http.ts";

/** On a busy machine; `npm run attack` prints the figure. */
const MOST_WAIT_MS = 5_000;

test("a read key's 60 generated statements and the known faults reach nothing, and keep nobody waiting", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const { families } = await attackOverHttp(tempDir(), inject("builtCli"), { count: 60, seed });
  for (const { family, statements, answered, refused, ended, slow, failed, otherMs, reached } of families) {
    expect(reached, `${family}, seed ${seed}`).toEqual([]);
    expect([failed, answered + refused + ended + slow], `${family}, seed ${seed}`).toEqual([0, statements]);
    expect(refused, `${family}, seed ${seed}`).toBeGreaterThan(0);
    expect(Math.max(...otherMs), `${family}, seed ${seed}`).toBeLessThan(MOST_WAIT_MS);
  }
});
