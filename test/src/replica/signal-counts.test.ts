// GET /v1/signals/counts over a few rows.
import { expect, test } from "vitest";
import { aMirror, ask } from "./rig.ts";

const database = await aMirror();

type Signals = readonly (readonly [type: string | null, account: number | null])[];
/** Counts of these signals, one a day from 2026 on. */
const countsOf = async (signals: Signals, query: Readonly<Record<string, string>> = {}) => {
  await database.run("DELETE FROM main.signals");
  for (const [nth, [type, account]] of signals.entries())
    await database.run(
      "INSERT INTO main.signals (id, account_id, type, date) VALUES ($1, $2, $3, TIMESTAMPTZ '2026-01-01' + to_days($1::INT))",
      [nth, account, type],
    );
  return JSON.parse(await ask(database, "/v1/signals/counts", query)).data;
};

test.each<[string, Signals, object]>([
  [
    "all signals, the accounts that have any, and the signals of each type",
    [
      ["hiring-alert", 1],
      ["hiring-alert", 2],
      ["press-release", 2],
    ],
    { all: 3, accounts: 2, "hiring-alert": 2, "press-release": 1 },
  ],
  [
    "0 for a documented type without a signal, and an undocumented type as any other",
    [["new-kind", 1]],
    { all: 1, "new-kind": 1, podcast: 0, "filing-alert": 0 },
  ],
  [
    "signals without a type among all",
    [
      [null, 3],
      ["podcast", 1],
      ["podcast", 2],
    ],
    { all: 3, accounts: 3, podcast: 2 },
  ],
  ["none", [], { all: 0, accounts: 0, podcast: 0 }],
])("counts %s", async (_, signals, counts) => {
  const found = await countsOf(signals);
  expect(found).toMatchObject(counts);
  expect(found).not.toHaveProperty("null");
});

test("filters limit the counts", async () => {
  const signals = [
    ["podcast", 1],
    ["podcast", 2],
    ["press-release", 1],
  ] as const;
  expect(await countsOf(signals, { accountId: "1" })).toMatchObject({ all: 2, accounts: 1, podcast: 1 });
  expect(await countsOf(signals, { afterDate: "2026-01-02" })).toMatchObject({ all: 1, podcast: 0 });
});
