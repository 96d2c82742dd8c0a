// Pages of lists: whatever ids look like, and while rows go away.
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Reader } from "../../../src/replica/reader.ts";
import { aMirror, ask, watched } from "./rig.ts";

const database = await aMirror();
beforeEach(async () => {
  for (const table of ["contacts", "news_articles"]) await database.run(`DELETE FROM ${table}`);
});

const pageSchema = z.object({
  data: z.array(z.object({ id: z.string() })),
  meta: z.object({ totalCount: z.number() }),
});

/** Ids of a page and the count of its list. */
const pageOf = async (reader: Reader, path: string, query: Record<string, string> = {}) => {
  const { data, meta } = pageSchema.parse(JSON.parse(await ask(reader, path, query)));
  return { ids: data.map(({ id }) => id), total: meta.totalCount };
};

const addContact = (id: string, name: string) =>
  database.run(
    "INSERT INTO main.contacts (id, organization_id, first_name, _first_synced_at, _synced_at, _run_id) VALUES ($1, 'o', $2, now(), now(), 'r')",
    [id, name],
  );
const BY_NAME = { sortBy: "firstName", sortOrder: "asc" };

test("ids that look like SQL, or hold what no text should, stand on their page in order", async () => {
  const ids = ["it's", 'a"b', "x') OR ('1'='1", "n\0l", "é,1", "--"];
  for (const [index, id] of ids.entries()) await addContact(id, String(index));
  expect(await pageOf(database, "/v1/contacts", BY_NAME)).toEqual({ ids, total: ids.length });
  expect(await pageOf(database, "/v1/contacts", { ...BY_NAME, perPage: "2", page: "2" })).toEqual({
    ids: ids.slice(2, 4),
    total: ids.length,
  });
  expect(await pageOf(database, "/v1/contacts", { page: "9" })).toEqual({ ids: [], total: ids.length });
});

test("an article that two companies share stands in each list once", async () => {
  for (const [company, id] of ["a:1", "a:2", "b:1", "b:3"].map((pair) => pair.split(":"))) {
    await database.run(
      "INSERT INTO main.news_articles (company_id, id, headline, date_published, _first_synced_at, _synced_at, _run_id) VALUES ($1, $2, $1, CAST($2 || ' days' AS INTERVAL) + TIMESTAMPTZ '2026-01-01', now(), now(), 'r')",
      [company ?? "", id ?? ""],
    );
  }
  await database.run(
    "INSERT INTO main.companies (id, name, _first_synced_at, _synced_at, _run_id) VALUES ('a', 'A', now(), now(), 'r'), ('b', 'B', now(), now(), 'r') ON CONFLICT DO NOTHING",
  );
  expect(await pageOf(database, "/v1/companies/a/news-articles")).toEqual({ ids: ["2", "1"], total: 2 });
  expect(await pageOf(database, "/v1/companies/b/news-articles")).toEqual({ ids: ["3", "1"], total: 2 });
});

test("a record that is removed between the two statements of a page leaves no gap: the page is read again", async () => {
  for (const id of ["1", "2", "3", "4"]) await addContact(id, id);
  let statements = 0;
  const counted = watched(database, () => (statements += 1));
  const moving: Reader = {
    ...counted,
    query: async (sql, params, row) => {
      const rows = await counted.query(sql, params, row);
      if (statements === 1) await database.run("DELETE FROM main.contacts WHERE id = '2'");
      return rows;
    },
  };
  expect(await pageOf(moving, "/v1/contacts", { ...BY_NAME, perPage: "2" })).toEqual({ ids: ["1", "3"], total: 3 });
  expect(statements).toBe(4);
});
