// Paging and sorting: complete, stable and cheap to ask for, whatever the page size.
import { expect, test } from "vitest";
import { signal } from "../../../../src/catalog/resources.ts";
import { get, many, sharedSandbox, walk } from "../../sandbox/sandbox-client.ts";

const sandbox = sharedSandbox();

test.each([1, 7, 100])("pages of %i rows, put together, are the whole list once", async (perPage) => {
  const whole = await walk(sandbox(), "/v1/contacts?sortBy=type");
  const ids: unknown[] = [];
  const pages = Math.ceil(whole.length / perPage);
  for (let page = 1; page <= Math.min(pages, 20); page++) {
    const { data, meta } = await get(sandbox(), `/v1/contacts?sortBy=type&perPage=${perPage}&page=${page}`);
    expect(meta).toMatchObject({ page, perPage, totalCount: whole.length, totalPages: pages });
    ids.push(...many(data).map(({ id }) => id));
  }
  expect(ids).toEqual(whole.map(({ id }) => id).slice(0, ids.length));
});

test("a page behind the last one is empty and still says how many there are", async () => {
  const { data, meta } = await get(sandbox(), "/v1/accounts?page=99");
  expect(data).toEqual([]);
  expect(meta).toMatchObject({ page: 99, totalCount: 12 });
  const far = await get(sandbox(), "/v1/accounts?page=9007199254740993&perPage=100");
  expect(far.data).toEqual([]);
});

test("a larger page than allowed is refused, which is free", async () => {
  const before = sandbox().stats().credits.used;
  expect((await get(sandbox(), "/v1/accounts?perPage=101", 400)).error?.message).toContain("100");
  expect(sandbox().stats().credits.used).toBe(before);
});

test.each(signal.map(({ name }) => name))("signals can be sorted by %s, missing values last", async (name) => {
  const fields = `&onlyWithFields=id,${name}`;
  for (const order of ["asc", "desc"]) {
    const { data } = await get(sandbox(), `/v1/signals?sortBy=${name}&sortOrder=${order}&perPage=100${fields}`);
    const rows = many(data);
    const missing = rows.map((row) => row[name] === undefined);
    expect(missing).toEqual([...missing].sort((left, right) => Number(left) - Number(right)));
    const numbers = rows.flatMap((row) => (typeof row[name] === "number" ? [row[name]] : []));
    expect(numbers).toEqual([...numbers].sort((left, right) => (order === "asc" ? left - right : right - left)));
  }
});

test("newer signals have larger ids", async () => {
  const rows = await walk(sandbox(), "/v1/signals?sortBy=id&sortOrder=asc");
  const created = rows.map(({ createdAt }) => String(createdAt));
  expect(created).toEqual([...created].sort());
});

test("only the named fields come, in any combination", async () => {
  const { data } = await get(sandbox(), "/v1/accounts?onlyWithFields=id,name&perPage=100");
  expect(many(data).every((row) => Object.keys(row).every((name) => ["id", "name"].includes(name)))).toBe(true);
});
