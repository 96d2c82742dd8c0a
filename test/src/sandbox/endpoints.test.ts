// Every endpoint of API.md answers as the document says, over real HTTP.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { first, get, many, one, send, sharedSandbox, walk } from "./sandbox-client.ts";

const sandbox = sharedSandbox();
const companyRow = z.object({ id: z.string(), domain: z.string() });

const someAccount = async () =>
  first((await walk(sandbox(), "/v1/accounts")).filter((row) => row.companyId && row.ownerId));
const listedCompany = async () => {
  const signals = await walk(sandbox(), "/v1/signals?type=earnings-call");
  const accounts = await walk(sandbox(), "/v1/accounts");
  const account = accounts.find((row) => row.companyId !== undefined && signals.some((s) => s.accountId === row.id));
  return String(account?.companyId);
};

describe("workspace routes", () => {
  test("accounts are listed by score, best first, 20 a page, with paging and usage", async () => {
    const { data, meta, usage } = await get(sandbox(), "/v1/accounts");
    const scores = many(data).flatMap((row) => (typeof row.mainScore === "number" ? [row.mainScore] : []));
    expect(scores).toEqual([...scores].sort((left, right) => right - left));
    expect(meta).toMatchObject({ apiVersion: "1.0.0", page: 1, perPage: 20, totalCount: 12, totalPages: 1 });
    expect(usage?.remaining).toBe((usage?.limit ?? 0) - (usage?.used ?? 0));
  });

  test("companies and owners of listed accounts are embedded once each", async () => {
    const { data, included } = await get(sandbox(), "/v1/accounts?include=company,owner&perPage=100");
    const companies = many(included?.companies).map(({ id }) => id);
    const owners = many(included?.owners).map(({ id }) => id);
    const linked = new Set(many(data).flatMap(({ companyId }) => (companyId === undefined ? [] : [companyId])));
    expect(new Set(companies)).toEqual(linked);
    expect(companies).toHaveLength(linked.size);
    expect(owners.length).toBeGreaterThan(0);
    expect(many(included?.companies).every((company) => company.insights === undefined)).toBe(true);
  });

  test("one account embeds its company, owner, best contacts and latest signals within the limits", async () => {
    const account = await someAccount();
    const path = `/v1/accounts/${account.id}?include=company,owner,contacts,signals&contactsLimit=3&signalsLimit=4`;
    const { data, included } = await get(sandbox(), path);
    expect(one(data)).toEqual(account);
    expect(one(included?.company).id).toBe(account.companyId);
    expect(one(included?.owner).id).toBe(account.ownerId);
    expect(many(included?.contacts).map(({ accountId }) => accountId)).toEqual([account.id, account.id, account.id]);
    expect(many(included?.signals)).toHaveLength(4);
  });

  test("one contact is the same as in the list and embeds its account", async () => {
    const contact = first(await walk(sandbox(), "/v1/contacts"));
    const { data, included } = await get(sandbox(), `/v1/contacts/${contact.id}?include=account`);
    expect(one(data)).toEqual(contact);
    expect(one(included?.account).id).toBe(contact.accountId);
    const list = await get(sandbox(), "/v1/contacts?perPage=2&include=account");
    expect(many(list.included?.accounts).length).toBeGreaterThan(0);
  });

  test("one signal has full content and sources, a listed one has neither", async () => {
    const listed = await walk(sandbox(), "/v1/signals");
    expect(listed.every((row) => row.fullContent === undefined && row.sources === undefined)).toBe(true);
    const details = await Promise.all(
      listed.slice(0, 10).map(async ({ id }) => one((await get(sandbox(), `/v1/signals/${id}`)).data)),
    );
    expect(details.some((row) => typeof row.fullContent === "string" && Array.isArray(row.sources))).toBe(true);
    const named = await get(sandbox(), "/v1/signals?onlyWithFields=id,fullContent&perPage=50");
    expect(many(named.data).some((row) => typeof row.fullContent === "string")).toBe(true);
  });

  test("signal counts add up to the listed signals", async () => {
    const signals = await walk(sandbox(), "/v1/signals");
    const counts = one((await get(sandbox(), "/v1/signals/counts")).data);
    expect(counts.all).toBe(signals.length);
    expect(counts.accounts).toBe(new Set(signals.map(({ accountId }) => accountId)).size);
    expect(counts["funding-alert"]).toBe(signals.filter(({ type }) => type === "funding-alert").length);
    const ofOne = one((await get(sandbox(), `/v1/signals/counts?accountId=${signals[0]?.accountId}`)).data);
    expect(ofOne.all).toBe(signals.filter(({ accountId }) => accountId === signals[0]?.accountId).length);
  });

  test.each(["/v1/accounts/1", "/v1/contacts/nobody", "/v1/signals/1"])(
    "%s is not found, which is free",
    async (path) => {
      const before = sandbox().stats().credits.used;
      expect((await get(sandbox(), path, 404)).error?.code).toBe("not_found");
      expect(sandbox().stats().credits.used).toBe(before);
    },
  );
});

describe("account insights", () => {
  test("accountId wins over domain and query, and all sections are there", async () => {
    const account = await someAccount();
    const found = await get(sandbox(), `/v1/account-insights?accountId=${account.id}&domain=no.example&query=nothing`);
    const profile = one(one(found.data).profile);
    expect(found.status).toBe("found");
    expect(profile).toMatchObject({ accountId: account.id, type: account.type });
    expect(one(profile.owner).id).toBe(account.ownerId);
    expect(profile.score).toBe(account.mainScore);
  });

  test("sections are limited to those named, the profile always comes", async () => {
    const account = await someAccount();
    const { data } = await get(sandbox(), `/v1/account-insights?accountId=${account.id}&sections=swotAnalysis`);
    expect(Object.keys(one(data)).filter((name) => name !== "swotAnalysis")).toEqual(["profile"]);
  });

  test("a domain is normalised: scheme, www, subdomains and case do not matter", async () => {
    const account = first((await walk(sandbox(), "/v1/accounts")).filter(({ domain }) => domain !== undefined));
    for (const spelled of [`www.${account.domain}`, `shop.eu.${account.domain}`, `HTTPS://${account.domain}/about`]) {
      const { status, data } = await get(sandbox(), `/v1/account-insights?domain=${encodeURIComponent(spelled)}`);
      expect([status, one(one(data).profile).accountId]).toEqual(["found", account.id]);
    }
    const byQuery = await get(sandbox(), `/v1/account-insights?query=${account.domain}`);
    expect(byQuery.status).toBe("found");
  });

  test("an ambiguous query lists candidates, best scored first, and costs a credit", async () => {
    const answer = await get(sandbox(), "/v1/account-insights?query=A");
    expect(answer.status).toBe("multiple_matches");
    expect(answer.data).toBeUndefined();
    expect(many(answer.candidates)[0]).toEqual(answer.bestMatch);
    const scores = new Map((await walk(sandbox(), "/v1/accounts")).map((row) => [row.id, Number(row.mainScore ?? -1)]));
    const order = many(answer.candidates).map(({ accountId }) => scores.get(accountId) ?? -1);
    expect(order).toEqual([...order].sort((left, right) => right - left));
  });

  test("nothing found is a 200, nothing asked a 400", async () => {
    expect((await get(sandbox(), "/v1/account-insights?query=zzzzzz")).status).toBe("not_found");
    expect((await get(sandbox(), "/v1/account-insights", 400)).error?.code).toBe("bad_request");
  });

  test("contacts and signals are included within their limits", async () => {
    const account = await someAccount();
    const path = `/v1/account-insights?accountId=${account.id}&include=contacts,signals`;
    const defaults = await get(sandbox(), path);
    expect(many(defaults.included?.contacts).length).toBeLessThanOrEqual(10);
    expect(many(defaults.included?.signals).length).toBeLessThanOrEqual(20);
    const two = await get(sandbox(), `${path}&contactsLimit=2&signalsLimit=1`);
    expect([many(two.included?.contacts).length, many(two.included?.signals).length]).toEqual([2, 1]);
    await get(sandbox(), `${path}&signalsLimit=101`, 400);
  });
});

describe("public company routes", () => {
  test("a company is resolved by its input, encoded or not", async () => {
    const id = await listedCompany();
    const company = one((await get(sandbox(), `/v1/companies/${id}`)).data);
    for (const input of [company.domain, String(company.mainStockSymbol).toLowerCase(), company.fundingDataUrl]) {
      const { data } = await get(sandbox(), `/v1/companies/by-input/${encodeURIComponent(String(input))}`);
      expect(one(data).id, String(input)).toBe(id);
    }
    const unencoded = await get(sandbox(), `/v1/companies/by-input/https://www.${company.domain}/en`);
    expect(one(unencoded.data).id).toBe(id);
    await get(sandbox(), "/v1/companies/by-input/nobody.example", 404);
    await get(sandbox(), "/v1/companies/nobody", 404);
  });

  test("companies that nobody tracks can be resolved too", async () => {
    const tracked = new Set((await walk(sandbox(), "/v1/accounts")).map(({ companyId }) => companyId));
    const rows = await sandbox().database.query("SELECT id, domain FROM main.companies", [], companyRow);
    const untracked = first(rows.filter(({ id }) => !tracked.has(id)));
    const { data } = await get(sandbox(), `/v1/companies/by-input/${untracked.domain}`);
    expect(one(data).id).toBe(untracked.id);
  });

  test("the latest earnings call and its analysis are embedded", async () => {
    const id = await listedCompany();
    const path = `/v1/companies/${id}?include=latestEarningsCall,latestEarningsCallAnalysis`;
    const { included } = await get(sandbox(), path);
    const calls = await walk(
      sandbox(),
      `/v1/companies/${id}/earnings-calls?onlyWithFields=id,happenedAt,generatedAnalysis`,
    );
    const latest = first(
      [...calls].sort((left, right) => String(right.happenedAt).localeCompare(String(left.happenedAt))),
    );
    expect(one(included?.latestEarningsCall).id).toBe(latest.id);
    expect(one(included?.latestEarningsCall).fullTranscript).toBeUndefined();
    expect(included?.latestEarningsCallAnalysis).toEqual(latest.generatedAnalysis);
  });

  test.each([
    ["news-articles", "articleBody", 1_000],
    ["job-openings", "jobDescription", 700],
    ["earnings-calls", "fullTranscript", 12_000],
    ["filings", "fullContent", 4_000],
  ])("%s leave %s out unless it is named", async (resource, heavy, atLeast) => {
    const path = `/v1/companies/${await listedCompany()}/${resource}`;
    const light = await walk(sandbox(), path);
    expect(light.length).toBeGreaterThan(0);
    expect(light.every((row) => row[heavy] === undefined)).toBe(true);
    const named = await walk(sandbox(), `${path}?onlyWithFields=id,${heavy}`);
    const texts = named.flatMap((row) => (typeof row[heavy] === "string" ? [row[heavy]] : []));
    expect(Math.max(...texts.map(({ length }) => length))).toBeGreaterThan(atLeast);
    expect(named.flatMap((row) => Object.keys(row)).every((name) => name === "id" || name === heavy)).toBe(true);
    await get(sandbox(), `/v1/companies/nobody/${resource}`, 404);
  });
});

describe("feedback and the rest", () => {
  const post = (body: string) => send(sandbox(), "/v1/feedback", { method: "POST", body });

  test("feedback is taken, and refused when it is not what the document asks for", async () => {
    expect((await post(JSON.stringify({ message: "Thanks", rating: 5, category: "other" }))).status).toBe(200);
    expect((await post(JSON.stringify({ rating: 5 }))).status).toBe(400);
    expect((await post(JSON.stringify({ message: "x", category: "praise" }))).status).toBe(400);
    expect((await post("{")).status).toBe(400);
    expect((await get(sandbox(), "/v1/feedback", 405)).error?.code).toBe("method_not_allowed");
  });

  test("requests without the right token get 401", async () => {
    for (const authorization of ["", "Bearer nonsense", sandbox().token]) {
      const reply = await send(sandbox(), "/v1/accounts", { headers: { authorization } });
      expect(reply.status).toBe(401);
    }
  });

  test("an unknown path is 404", async () => {
    await get(sandbox(), "/v1/nothing", 404);
    await get(sandbox(), "/v2/accounts", 404);
  });

  test("an answer is encoded as the client accepts it", async () => {
    const path = "/v1/accounts?sortBy=id";
    const reply = await send(sandbox(), path, { headers: { "accept-encoding": "br;q=0.2, gzip" } });
    expect(reply.headers.get("content-encoding")).toBe("gzip");
    expect(one(JSON.parse(reply.text)).data).toEqual((await get(sandbox(), path)).data);
  });
});

test("without Full Access the workspace is empty, the companies stay, and the tier can change at any time", async () => {
  const account = first((await walk(sandbox(), "/v1/accounts")).filter(({ companyId }) => companyId !== undefined));
  const contact = first(await walk(sandbox(), "/v1/contacts"));
  const signal = first(await walk(sandbox(), "/v1/signals"));
  sandbox().setTier("public");
  expect((await get(sandbox(), `/v1/account-insights?accountId=${account.id}`)).status).toBe("not_found");
  await get(sandbox(), `/v1/accounts/${account.id}`, 404);
  await get(sandbox(), `/v1/contacts/${contact.id}`, 404);
  await get(sandbox(), `/v1/signals/${signal.id}`, 404);
  for (const path of ["/v1/accounts", "/v1/contacts", "/v1/signals"]) {
    const { data, meta } = await get(sandbox(), `${path}?perPage=50`);
    expect([data, meta?.totalCount, meta?.perPage]).toEqual([[], 0, 50]);
    await get(sandbox(), `${path}?perPage=101`, 400);
  }
  expect((await get(sandbox(), "/v1/signals/counts")).data).toEqual({});
  expect((await get(sandbox(), `/v1/companies/${account.companyId}`)).data).toMatchObject({ id: account.companyId });
  expect((await get(sandbox(), `/v1/companies/${account.companyId}/job-openings`)).meta?.totalCount).toBeGreaterThan(0);
  sandbox().setTier("full");
  expect((await get(sandbox(), "/v1/accounts")).meta?.totalCount).toBe(12);
});
