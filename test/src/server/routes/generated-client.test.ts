import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { startServer } from "../../../../src/server/app.ts";
import { serving } from "../../../support/served.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";
import { mirrorForFile } from "../served-mirror.ts";

const result = z.object({
  data: z.unknown().optional(),
  error: z.unknown().optional(),
  response: z.instanceof(Response),
});
const operation = z.custom<(options: unknown) => Promise<unknown>>((value) => typeof value === "function");
const generated = z.record(z.string(), z.unknown());
const configurable = z.object({ client: z.object({ setConfig: operation }).loose() });

const idSchema = z.object({ id: z.union([z.number(), z.string()]) }).loose();
const accountSchema = z.object({ id: z.number(), name: z.string(), domain: z.string(), companyId: z.string() });
const documentSchema = z.object({
  paths: z.record(z.string(), z.object({ get: z.object({ operationId: z.string() }).optional() })),
});
/** What a client goes by; `usage`, times and ids of requests are the server's own. */
const answerSchema = z.object({
  data: z.unknown().optional(),
  included: z.unknown().optional(),
  status: z.unknown().optional(),
  candidates: z.unknown().optional(),
  bestMatch: z.unknown().optional(),
  meta: z
    .object({
      page: z.unknown().optional(),
      perPage: z.unknown().optional(),
      totalCount: z.unknown().optional(),
      totalPages: z.unknown().optional(),
    })
    .optional(),
});
type Answer = z.output<typeof answerSchema> & { readonly httpStatus: number };

const folder = dirForFile();

// So many that some companies are listed: the others file nothing.
const mirror = await mirrorForFile(8);
const server = await startServer(serving(mirror.snapshot), { host: "127.0.0.1", port: 0 });
await createClient({ input: `${mirror.sandbox.url}/openapi.json`, output: folder, logs: { level: "silent" } });
afterAll(async () => {
  await server.close();
});

/** What the generated operations answer, from one base address. */
const clientAt = async (baseUrl: string, auth: string) => {
  const sdk = generated.parse(await import(join(folder, "sdk.gen.ts")));
  const { client } = configurable.parse(await import(join(folder, "client.gen.ts")));
  return async (name: string, options: unknown = {}) => {
    // The generated client is one for the whole process.
    client.setConfig({ baseUrl, auth });
    return result.parse(await operation.parse(sdk[name], { error: () => `no operation ${name}` })(options));
  };
};

type Query = Readonly<Record<string, string | number>>;
type Call = readonly [name: string, query: Query, path?: Query];

/** Something of everything that the document offers: filters, sorting, paging, fields, embedded records, 404s. */
const callsFor = async (ask: (name: string, options: unknown) => Promise<Answer>): Promise<readonly Call[]> => {
  const listed = async (name: string) => z.array(idSchema).parse((await ask(name, { query: { perPage: 1 } })).data)[0];
  // Which account comes first depends on the day; not every one has a domain.
  const accounts = z.array(z.unknown()).parse((await ask("listAccounts", { query: { perPage: 20 } })).data);
  const account = accountSchema.parse(accounts.find((candidate) => accountSchema.safeParse(candidate).success));
  const accountId = account.id;
  const contactId = (await listed("listContacts"))?.id ?? "";
  const signalId = (await listed("listSignals"))?.id ?? "";
  const { companyId, domain, name } = account;
  const all = z.array(accountSchema.partial()).parse((await ask("listAccounts", {})).data);
  const companies = all.flatMap((each) => each.companyId ?? []);
  const sub = ["listNewsArticles", "listJobOpenings", "listEarningsCalls", "listFilings"];
  return [
    ["listAccounts", { perPage: 2, page: 2, sortBy: "name", sortOrder: "asc", include: "company,owner" }],
    ["listAccounts", { ids: `${accountId},424242`, onlyWithFields: "id,name,mainScore" }],
    ["listAccounts", { textQuery: name.slice(0, 4), view: "export" }],
    ["listAccounts", { domain, companyId, type: "prospect", priority: 1 }],
    ["listAccounts", { hasSignalsOfType: "funding-alert,filing-alert", hasSignalsAfterDate: "2025-01-01" }],
    ["getAccount", { include: "company,owner" }, { accountId }],
    ["getAccount", {}, { accountId: 424242 }],
    ["listContacts", { perPage: 5, sortBy: "id", changeType: "promotion", include: "account" }],
    ["listContacts", { accountId, type: "champion", lastChangeDetectedAfter: "2025-01-01" }],
    ["listContacts", { currentTitleTextQuery: "head", isInCurrentRoleAfterDate: "2020-01-01", sortOrder: "asc" }],
    ["getContact", { include: "account" }, { contactId }],
    ["getContact", {}, { contactId: "nobody" }],
    ["listSignals", { perPage: 5, type: "funding-alert,press-release", onlyWithFields: "id,headline" }],
    ["listSignals", { accountId, afterDate: "2025-06-01", beforeDate: "2026-06-01", sortBy: "id", sortOrder: "asc" }],
    ["getSignalCounts", { accountId, afterDate: "2025-06-01" }],
    ["getSignal", { onlyWithFields: "id,headline,type" }, { signalId }],
    ["getSignal", {}, { signalId: 424242424242 }],
    ["getAccountInsight", { accountId, sections: "summary,value", include: "contacts,signals", contactsLimit: 2 }],
    ["getAccountInsight", { domain: `www.${domain}` }],
    ["getAccountInsight", { query: "no such name anywhere" }],
    ["getAccountInsight", {}],
    ["resolveCompany", {}, { companyInputId: domain }],
    ["resolveCompany", {}, { companyInputId: "nowhere.example" }],
    ["getCompany", { include: "latestEarningsCall" }, { companyId }],
    ["getCompany", {}, { companyId: "nobody" }],
    ...companies.flatMap((each) => sub.map((name): Call => [name, { perPage: 3, page: 1 }, { companyId: each }])),
    ...sub.map((name): Call => [name, {}, { companyId: "nobody" }]),
    ["getUsageLimits", {}],
  ];
};

test("the same calls give the same answers from the service and from the mirror, on every route", async () => {
  const asking = async (url: string, token: string) => {
    const call = await clientAt(url, token);
    return async (name: string, options: unknown): Promise<Answer> => {
      const { data, response } = await call(name, options);
      expect(response.url.startsWith(url)).toBe(true);
      return { httpStatus: response.status, ...answerSchema.parse(data ?? {}) };
    };
  };
  const service = await asking(mirror.sandbox.url, mirror.sandbox.token);
  const local = await asking(server.url, "any token");
  const calls = await callsFor(service);
  const statuses = new Set<number>();
  const filled = new Set<string>();
  for (const [name, query, path] of calls) {
    const options = { query, ...(path === undefined ? {} : { path }) };
    const [here, there] = [await local(name, options), await service(name, options)];
    expect({ name, options, ...here }).toEqual({ name, options, ...there });
    statuses.add(there.httpStatus);
    if (Array.isArray(there.data) && there.data.length > 0) filled.add(name);
  }
  expect([...statuses].sort()).toEqual([200, 400, 404]);
  // Two empty lists would prove nothing.
  expect([...filled].sort()).toEqual(
    expect.arrayContaining([
      "listAccounts",
      "listContacts",
      "listEarningsCalls",
      "listFilings",
      "listJobOpenings",
      "listNewsArticles",
      "listSignals",
    ]),
  );
  // These tell of the calls themselves, so that they cannot be equal.
  const others = ["getUsage", "listUsageRequests"];
  for (const name of others) expect((await local(name, {})).httpStatus).toBe(200);
  const document: unknown = await (await fetch(`${server.url}/openapi.json`)).json();
  const reading = Object.values(documentSchema.parse(document).paths).flatMap(({ get }) => get?.operationId ?? []);
  expect([...new Set([...calls.map(([name]) => name), ...others])].sort()).toEqual(reading.sort());
});
