// The fence and the gate change no answer: every saved query and every view of `marts` gives the same rows with and without them.
import { expect, test } from "vitest";
import { queryOnce } from "../../../../../bench/fenced-query.ts";
import { describeViews } from "../../../../../src/warehouse/file/views.ts";
import { savedQueries } from "../../../../../src/warehouse/read/saved-queries.ts";
import { afterTest } from "../../../../support/after-test.ts";
import { serveMirror } from "../../../server/served-mirror.ts";

test("all saved queries and marts have the same rows with and without fence and gate", async () => {
  const mirror = await serveMirror(8);
  afterTest(() => mirror.close());
  const marts = (await describeViews()).filter(({ schema }) => schema === "marts");
  const statements = [
    ...marts.map(({ name }) => `SELECT * FROM marts."${name}" ORDER BY ALL`),
    ...savedQueries().map(({ sql }) => sql),
  ];
  expect(marts.length).toBeGreaterThanOrEqual(18);
  expect(savedQueries().length).toBeGreaterThanOrEqual(20);
  let withRows = 0;
  for (const sql of statements) {
    const [fenced, plain] = await Promise.all([true, false].map((how) => queryOnce(mirror.snapshot, sql, how)));
    // A saved query may leave rows that are alike in any order.
    const sorted = (answer: readonly unknown[] = []) => answer.map((row) => JSON.stringify(row)).sort();
    expect(sorted(fenced?.answer), sql).toEqual(sorted(plain?.answer));
    if ((plain?.answer.length ?? 0) > 1) withRows += 1;
  }
  // Of 8 accounts nearly all of them have something to say.
  expect(withRows).toBeGreaterThan(statements.length / 2);
}, 300_000);
