// Properties of loading, over random records, batches and orders (fast-check prints its seed on failure).
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/json.ts";
import type { Warehouse } from "../../../../src/warehouse/file/warehouse.ts";
import type { TableLoad } from "../../../../src/warehouse/record/checkpoint.ts";
import { aCheckpoint, aLoad, aWarehouse, defaultAsked, rowsOf } from "../builders.ts";

/** Cases of each property; `npm run test:long` draws 60. */
const CASES = Number(process.env.LOAD_CASES ?? 12);

const everything = new Set([...defaultAsked("news_articles"), "articleBody"]);
const nothing = new Set<string>();

/** Few ids and values, so that records meet each other; some fields absent, some odd. */
const article = fc.record(
  {
    id: fc.constantFrom("a", "b", "c", "d"),
    url: fc.constantFrom("u1", "u2"),
    headline: fc.constantFrom("h1", "h2", null, 5),
    datePublished: fc.constantFrom("2024-01-01", "2024-01-01T00:00:00Z", "soon"),
    articleBody: fc.constantFrom("text", null, 7),
    unknown: fc.constantFrom(1, { x: 1, y: 2 }, { y: 2, x: 1 }),
  },
  { requiredKeys: ["id"] },
);
const load = fc.record({
  records: fc.array(article, { minLength: 0, maxLength: 6 }),
  company: fc.constantFrom("c1", "c2"),
  asked: fc.constantFrom(defaultAsked("news_articles"), everything, nothing),
});

const loadsOf = (drafts: readonly { records: JsonObject[]; company: string; asked: ReadonlySet<string> }[]) =>
  drafts.map(({ records, company, asked }) =>
    aLoad("news_articles", records, { asked, fromPath: { companyId: company }, walkId: "w" }),
  );
/** Rows without stamps. `_extra` is parsed: a value that only comes in another order keeps its stored text. */
const content = async (warehouse: Warehouse) => {
  const sql = "SELECT * EXCLUDE (_first_synced_at, _synced_at, _run_id) FROM news_articles ORDER BY company_id, id";
  const rows = await rowsOf(warehouse, sql);
  return rows.map((row) => ({ ...row, _extra: JSON.parse(String(row._extra)) }));
};
const clear = async (warehouse: Warehouse) => {
  await warehouse.database.run(
    "DELETE FROM news_articles; DELETE FROM history.news_articles; DELETE FROM sync.walk_seen",
  );
};

/** Cuts the loads into commits at the given places. */
const commitIn = async (warehouse: Warehouse, loads: readonly TableLoad[], cuts: ReadonlySet<number>) => {
  let batch: TableLoad[] = [];
  for (const [index, one] of loads.entries()) {
    batch.push(one);
    if (cuts.has(index) || index === loads.length - 1) {
      await warehouse.commit(aCheckpoint(batch));
      batch = [];
    }
  }
};

test("any split of the loads into commits leaves the same rows as one commit", async () => {
  const one = await aWarehouse();
  const many = await aWarehouse();
  await fc.assert(
    fc.asyncProperty(fc.array(load, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(5)), async (drafts, cuts) => {
      await clear(one);
      await clear(many);
      await commitIn(one, loadsOf(drafts), new Set());
      await commitIn(many, loadsOf(drafts), new Set(cuts));
      expect(await content(many)).toEqual(await content(one));
      expect(await many.seenCount("w")).toBe(await one.seenCount("w"));
    }),
    { numRuns: CASES, verbose: 1 },
  );
});

test("loading the same commit twice changes nothing: no row, no time stamp, no history", async () => {
  const warehouse = await aWarehouse();
  await fc.assert(
    fc.asyncProperty(fc.array(load, { minLength: 1, maxLength: 4 }), async (drafts) => {
      await clear(warehouse);
      await warehouse.commit(aCheckpoint(loadsOf(drafts)));
      const state = async () => [
        await rowsOf(warehouse, "FROM news_articles ORDER BY company_id, id"),
        await rowsOf(warehouse, "FROM history.news_articles"),
        await warehouse.seenCount("w"),
      ];
      const before = await state();
      const again = await warehouse.commit(aCheckpoint(loadsOf(drafts)));
      expect(again.every(({ inserted, updated }) => inserted + updated === 0)).toBe(true);
      expect(await state()).toEqual(before);
    }),
    { numRuns: CASES, verbose: 1 },
  );
});

test("every version ends in the table or in history, and validity has no gap", async () => {
  const warehouse = await aWarehouse();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom("h1", "h2", "h3"), { minLength: 1, maxLength: 8 }), async (headlines) => {
      await clear(warehouse);
      for (const [index, headline] of headlines.entries()) {
        const record = { id: "a", url: "u", datePublished: "2024-01-01", headline };
        const more = { fromPath: { companyId: "c" }, receivedAt: 1000 * index };
        await warehouse.commit(aCheckpoint([aLoad("news_articles", [record], more)]));
      }
      const versions = await rowsOf(
        warehouse,
        `SELECT headline, valid_from, valid_to FROM history.news_articles
         UNION ALL SELECT headline, _synced_at, NULL FROM news_articles ORDER BY valid_from`,
      );
      const changes = headlines.filter((headline, index) => headline !== headlines[index - 1]);
      expect(versions.map(({ headline }) => headline)).toEqual(changes);
      versions.forEach((version, index) => {
        expect(version.valid_to).toBe(versions[index + 1]?.valid_from ?? null);
      });
    }),
    { numRuns: Math.ceil(CASES / 2), verbose: 1 },
  );
});

test("rows scattered over a large table are found and replaced, and only they", async () => {
  const warehouse = await aWarehouse();
  const size = 30_000;
  await warehouse.database.run(
    `INSERT INTO contacts (id, organization_id, _first_synced_at, _synced_at, _run_id)
     SELECT md5(range::VARCHAR), 'old', '2020-01-01', '2020-01-01', 'r' FROM range(${size});
     INSERT INTO signals (id, headline, _first_synced_at, _synced_at, _run_id)
     SELECT range * 10, 'old', '2020-01-01', '2020-01-01', 'r' FROM range(${size})`,
  );
  const picked = await rowsOf(warehouse, "SELECT id FROM contacts USING SAMPLE reservoir(40 ROWS) REPEATABLE (7)");
  const contacts = [...picked.map(({ id }) => String(id)), "it's new", "nul\0"].map((id) => ({
    id,
    organizationId: "new",
  }));
  const signals = [5, 10, 150_000, 299_990, 2n ** 62n].map((id) => ({ id, headline: "new" }));
  const counts = await warehouse.commit(aCheckpoint([aLoad("contacts", contacts), aLoad("signals", signals)]));
  expect(counts).toMatchObject([
    { inserted: 2, updated: 40, unchanged: 0 },
    { inserted: 2, updated: 3, unchanged: 0 },
  ]);
  const check = (table: string, column: string) =>
    rowsOf(
      warehouse,
      `SELECT "${column}" AS value, count(*) AS n, count(DISTINCT id) AS ids FROM ${table} GROUP BY 1 ORDER BY 1`,
    );
  expect(await check("contacts", "organization_id")).toEqual([
    { value: "new", n: 42, ids: 42 },
    { value: "old", n: size - 40, ids: size - 40 },
  ]);
  expect(await check("signals", "headline")).toEqual([
    { value: "new", n: 5, ids: 5 },
    { value: "old", n: size - 3, ids: size - 3 },
  ]);
  expect(await rowsOf(warehouse, "SELECT count(*) AS n FROM history.contacts")).toEqual([{ n: 40 }]);
});
