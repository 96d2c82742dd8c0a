// A short attack over HTTP on the built program; `npm run attack` makes a longer one.
import { expect, inject, test } from "vitest";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { attackOverHttp } from "./over-http.ts";

/** On a busy machine; `npm run attack` prints the figure. */
const MOST_WAIT_MS = 5_000;

test("a read key's 60 generated statements and the known faults reach nothing, and keep nobody waiting", async () => {
  const seed = Math.floor(Math.random() * 1e6);
  for (const figures of await attackOverHttp(tempDir(), inject("builtCli"), { count: 60, seed })) {
    const { family, statements, answered, refused, slow, failed, slowestOther, reached } = figures;
    expect(reached, `${family}, seed ${seed}`).toEqual([]);
    expect([failed, answered + refused + slow], `${family}, seed ${seed}`).toEqual([0, statements]);
    expect(slowestOther, `${family}, seed ${seed}`).toBeLessThan(MOST_WAIT_MS);
  }
});
