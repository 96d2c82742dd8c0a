// GET /api/search: the same records as the command, and who may search.
import { expect, test } from "vitest";
import { z } from "zod";
import { Secret } from "../../../../src/core/secret.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(2);
const server = await mirror.server();

const foundSchema = z.array(z.looseObject({ table: z.string(), title: z.string().nullable(), score: z.number() }));
const ask = (query: string) => server.app.inject({ url: `/api/search${query}`, headers: HERE });

test("records come by words, the best first, from the tables asked for", async () => {
  const found = foundSchema.parse((await ask("?q=the%20of%20and%20in%20for&in=signals,news_articles&limit=5")).json());
  expect(found.length).toBeGreaterThan(0);
  expect(found.map(({ score }) => score)).toEqual(found.map(({ score }) => score).toSorted((a, b) => b - a));
  expect(new Set(found.map(({ table }) => table))).not.toContain("accounts");
});

test("no word, an unknown table and a limit of none are refused; with keys, only with one", async () => {
  expect((await ask("")).statusCode).toBe(400);
  expect((await ask("?q=%20")).statusCode).toBe(400);
  expect((await ask("?q=a&in=usage_limits")).statusCode).toBe(400);
  expect((await ask("?q=a&limit=0")).statusCode).toBe(400);
  const locked = await mirror.server({ key: new Secret("k".repeat(32)) });
  expect((await locked.app.inject({ url: "/api/search?q=a", headers: HERE })).statusCode).toBe(401);
});
