// The purse of an assistant: what it may spend, also with calls side by side, failures, restarts and a new day.
import fc from "fast-check";
import { expect, test } from "vitest";
import { openPurse, parsePurse } from "../../../src/mcp/server.ts";
import { tempDir } from "../warehouse/temp-dir.ts";

const T0 = Date.UTC(2026, 10, 27, 12);
const at = (now = T0) => ({ now: () => now });
const one = { least: 1, most: 1 };
const cost = (credits: number) => () => Promise.resolve({ value: "bought", credits });

test.each([
  ["5/session", { session: 5 }],
  ["1/call, 20/day", { call: 1, day: 20 }],
  ["0/call", { call: 0 }],
])("%s", (text, limits) => expect(parsePurse(text)).toEqual(limits));

test.each(["5", "5/week", "-1/call", "x/session", "", "1.5/day"])("%j is refused", (text) =>
  expect(() => parsePurse(text)).toThrow("--purse"),
);

test("an empty purse buys nothing and calls nothing", async () => {
  const purse = openPurse({}, tempDir(), at());
  let calls = 0;
  const buy = () => {
    calls += 1;
    return Promise.resolve({ value: 1, credits: 1 });
  };
  expect(await purse.spend(one, buy)).toBeNull();
  expect([calls, await purse.left()]).toEqual([0, 0]);
});

test("a session ends with its credits; a call that cost nothing takes none; a failed one counts in full", async () => {
  const purse = openPurse({ session: 3 }, tempDir(), at());
  expect(await purse.spend(one, cost(1))).toMatchObject({ credits: 1 });
  expect(await purse.spend(one, cost(0))).toMatchObject({ credits: 0 });
  expect(await purse.left()).toBe(2);
  await expect(purse.spend(one, () => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
  expect(await purse.left()).toBe(1);
  expect(await purse.spend({ least: 1, most: 100 }, (credits) => cost(credits)())).toMatchObject({ credits: 1 });
  expect(await purse.spend(one, cost(1))).toBeNull();
});

test("the purse of a day is shared by sessions, survives a restart, and is full again the next day", async () => {
  const dataDir = tempDir();
  await openPurse({ day: 2 }, dataDir, at()).spend(one, cost(1));
  const later = openPurse({ day: 2, call: 1 }, dataDir, at(T0 + 3_600_000));
  expect(await later.left()).toBe(1);
  await later.spend(one, cost(1));
  expect(await openPurse({ day: 2 }, dataDir, at()).spend(one, cost(1))).toBeNull();
  expect(await openPurse({ day: 2 }, dataDir, at(T0 + 86_400_000)).left()).toBe(2);
});

test("calls side by side never spend more than the purse holds", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 6 }),
      async (costs, session, day) => {
        const purse = openPurse({ session, day }, tempDir(), at());
        const bought = await Promise.all(
          costs.map((credits) => purse.spend({ least: 1, most: 4 }, (most) => cost(Math.min(most, credits))())),
        );
        const spent = bought.reduce((sum, result) => sum + (result?.credits ?? 0), 0);
        expect(spent).toBeLessThanOrEqual(Math.min(session, day));
        expect(await purse.left()).toBe(Math.min(session, day) - spent);
      },
    ),
    { numRuns: 15 },
  );
});
