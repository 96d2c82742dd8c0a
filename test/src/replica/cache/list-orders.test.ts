// Lists whose order is kept in memory: the same pages as statements find, without a statement for their keys.
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tableSpec } from "../../../../src/catalog/tables.ts";
import {
  type Cache,
  createCache,
  createListOrders,
  type KnownOrder,
  type ListOrder,
} from "../../../../src/replica/cache/list-cache.ts";
import { aMirror, ask, watched } from "../rig.ts";

/** More than DuckDB returns at once. */
const SIGNALS = 2500;
const MOST_BYTES = 1024 * 1024;

const database = await aMirror();
// Equal dates, missing dates and accounts, ids in another order than dates.
await database.run(`INSERT INTO main.signals (id, organization_id, account_id, type, headline, date, _first_synced_at, _synced_at, _run_id)
  SELECT 9007199254740990 + (i * 7919) % ${SIGNALS}, 'o', nullif(i % 7, 0), 'podcast', nullif('h' || i % 11, 'h3'),
    CASE WHEN i % 5 > 0 THEN TIMESTAMPTZ '2026-01-01' + to_days(CAST(i % 40 AS INTEGER)) END, now(), now(), 'r' FROM range(${SIGNALS}) r(i)`);

const order = (sortBy: string, sortOrder: "asc" | "desc", per: string | null) => {
  const field = tableSpec("signals").fields.find(({ name }) => name === sortBy);
  if (field === undefined) throw new TypeError(sortBy);
  return { table: "signals", sortBy: field, sortOrder, per } as const;
};

/** Orders of the signals. `learn` asks for one until it is made. */
const ordersOf = (inner: Cache<KnownOrder>, name = "a", mostBytes = MOST_BYTES) => {
  let made: () => void = () => undefined;
  const cache: Cache<KnownOrder> = {
    ...inner,
    set: (...entry) => {
      inner.set(...entry);
      made();
    },
  };
  const orders = createListOrders({ reader: database, cache, mostBytes, name });
  const learn = async (wanted: ListOrder) => {
    const making = new Promise<void>((resolve) => {
      made = resolve;
    });
    for (let asked = 0; asked < 51; asked += 1) expect(orders.page(wanted, "1", 0, 10)).toBeUndefined();
    await making;
    // Only then may the next one be made.
    await setImmediate();
  };
  return { orders, learn };
};

test("a page of a list whose order is known is, to the byte, the one that statements find", async () => {
  const { orders, learn } = ordersOf(createCache(MOST_BYTES));
  for (const sortBy of ["date", "headline"]) {
    for (const sortOrder of ["asc", "desc"] as const) {
      for (const per of [null, "account_id"]) await learn(order(sortBy, sortOrder, per));
    }
  }
  const query = fc.record(
    {
      sortBy: fc.constantFrom("date", "headline"),
      sortOrder: fc.constantFrom("asc", "desc"),
      accountId: fc.constantFrom("1", "006", "7", "8", "5,6", "5,"),
      type: fc.constantFrom("podcast", "press-release"),
      perPage: fc.integer({ min: 1, max: 90 }).map(String),
      page: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant("9223372036854775807")).map(String),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(query, async (asked) => {
      expect(await ask(database, "/v1/signals", asked, { orders })).toBe(await ask(database, "/v1/signals", asked));
    }),
    { numRuns: 30 },
  );
});

test("keys of a known order cost no statement; an order is made only after fifty pages", async () => {
  const { orders, learn } = ordersOf(createCache(MOST_BYTES));
  await learn(order("date", "desc", null));
  const statements: string[] = [];
  const counting = watched(database, (sql) => statements.push(sql));
  await ask(counting, "/v1/signals", { page: "3" }, { orders });
  expect(statements).toHaveLength(1);
  await ask(counting, "/v1/signals", { page: "3", accountId: "1" }, { orders });
  expect(statements).toHaveLength(3);
});

test("an order that needs more memory than there may be is not made, and not tried again", async () => {
  const read: string[] = [];
  const orders = createListOrders({
    reader: {
      cells: (sql, params) => {
        read.push(sql);
        return database.cells(sql, params);
      },
      integers: () => Promise.reject(new TypeError("too large")),
    },
    cache: createCache(MOST_BYTES),
    mostBytes: SIGNALS * 8,
    name: "a",
  });
  const whole = order("date", "desc", null);
  for (let asked = 0; asked < 200; asked += 1) {
    expect(orders.page(whole, "", 0, 10)).toBeUndefined();
    if (asked > 50) await setImmediate();
  }
  expect(read).toHaveLength(1);
});

test("orders of another reader are not used", async () => {
  const cache = createCache<KnownOrder>(MOST_BYTES);
  const wanted = order("date", "desc", null);
  await ordersOf(cache, "before").learn(wanted);
  await ordersOf(cache, "after").learn(wanted);
});
