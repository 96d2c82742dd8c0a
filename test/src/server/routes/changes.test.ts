// GET /api/changes: pages of the change feed, their limits, and who may read them.
import { expect, test } from "vitest";
import { z } from "zod";
import { Secret } from "../../../../src/core/secret.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(2);
const server = await mirror.server();

const pageSchema = z.strictObject({
  data: z.array(z.looseObject({ n: z.number(), table: z.string(), change: z.string() })),
  next: z.number(),
});
const ask = (query: string) => server.app.inject({ url: `/api/changes${query}`, headers: HERE });
const page = async (query: string) => pageSchema.parse((await ask(query)).json());

test("pages follow one another by `next`, without a gap, to the last change", async () => {
  const numbers: number[] = [];
  let after = 0;
  for (;;) {
    const { data, next } = await page(`?after=${after}&limit=40`);
    numbers.push(...data.map(({ n }) => n));
    if (data.length === 0) break;
    after = next;
  }
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(numbers.length).toBeGreaterThan(80);
  expect(await page(`?after=${after}`)).toEqual({ data: [], next: after });
});

test("without parameters the first hundred come; tables and limit choose", async () => {
  expect((await page("")).data.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  const { data } = await page("?tables=accounts,owners&limit=3");
  expect(new Set(data.map(({ table }) => table))).toEqual(new Set(["accounts", "owners"]));
});

test("later syncs continue the feed", async () => {
  const { next } = await page("?limit=1000&after=0");
  let last = next;
  for (let more = await page(`?after=${last}&limit=1000`); more.data.length > 0; ) {
    last = more.next;
    more = await page(`?after=${last}&limit=1000`);
  }
  await mirror.sync();
  const fresh = await page(`?after=${last}&limit=1000`);
  expect(fresh.data[0]).toMatchObject({ n: last + 1 });
});

test.each([
  ["?after=-1", 400, "USAGE"],
  ["?after=x", 400, "USAGE"],
  ["?limit=0", 400, "USAGE"],
  ["?limit=1001", 400, "USAGE"],
  ["?tables=nothing", 400, "USAGE"],
  ["?after=99999999", 400, "CHANGES_AHEAD"],
  ["?profile=nobody", 404, "NOT_FOUND"],
])("%s is refused with %i %s", async (query, status, code) => {
  const answer = await ask(query);
  expect([answer.statusCode, answer.json().error.code]).toEqual([status, code]);
});

test("a key is needed where the server has one", async () => {
  const locked = await mirror.server({ key: new Secret("0123456789abcdef0123456789abcdef") });
  expect((await locked.app.inject({ url: "/api/changes", headers: HERE })).statusCode).toBe(401);
});
