// GET /v1/signals/counts over a few rows.
import { beforeAll, expect, test } from "vitest";
import { ENDPOINTS } from "../../../src/catalog/endpoints.ts";
import { Params } from "../../../src/replica/query/params.ts";
import { signalCounts } from "../../../src/replica/replica.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { forFile } from "../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
beforeAll(async () => {
  await database.run(
    "CREATE TABLE main.signals (id BIGINT, account_id BIGINT, type VARCHAR, headline VARCHAR, date TIMESTAMPTZ)",
  );
});

/** Counts of these signals: type, account. */
const countsOf = async (
  signals: readonly (readonly [type: string | null, account: number | null])[],
  query: Readonly<Record<string, string>> = {},
) => {
  await database.run("DELETE FROM main.signals");
  for (const [nth, [type, account]] of signals.entries()) {
    const cells = [nth, account ?? "NULL", type === null ? "NULL" : `'${type}'`, "'h'", `'2026-01-0${nth + 1}'`];
    await database.run(`INSERT INTO main.signals VALUES (${cells.join(", ")})`);
  }
  return JSON.parse(await signalCounts(database, Params.parse(ENDPOINTS.getSignalCounts, {}, query)));
};

test("counts all signals, the accounts that have any, and the signals of each type", async () => {
  const counts = await countsOf([
    ["hiring-alert", 1],
    ["hiring-alert", 2],
    ["press-release", 2],
  ]);
  expect(counts).toMatchObject({ all: 3, accounts: 2, "hiring-alert": 2, "press-release": 1 });
});

test("a documented type without a signal counts 0, an undocumented one counts as any other", async () => {
  expect(await countsOf([["new-kind", 1]])).toMatchObject({ all: 1, "new-kind": 1, podcast: 0, "filing-alert": 0 });
});

test("signals without a type count among all, however many they are, and under no name", async () => {
  const few = await countsOf([
    [null, 3],
    ["podcast", 1],
    ["podcast", 2],
  ]);
  expect(few).toMatchObject({ all: 3, accounts: 3, podcast: 2 });
  expect(few).not.toHaveProperty("null");
  expect(await countsOf([[null, 1]])).toMatchObject({ all: 1, accounts: 1 });
});

test("filters limit the counts, and no signal at all is no error", async () => {
  const signals = [
    ["podcast", 1],
    ["podcast", 2],
    ["press-release", 1],
  ] as const;
  expect(await countsOf(signals, { accountId: "1" })).toMatchObject({ all: 2, accounts: 1, podcast: 1 });
  expect(await countsOf(signals, { afterDate: "2026-01-02" })).toMatchObject({ all: 1, podcast: 0 });
  expect(await countsOf([])).toMatchObject({ all: 0, accounts: 0, podcast: 0 });
});
