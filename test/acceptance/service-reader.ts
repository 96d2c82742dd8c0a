// Reads the whole service over HTTP with nothing of duckmirror: every list page by page, every record's detail.
// What it returns is what the mirror must hold: table → key → record as the service wrote it, integers as bigint.
import { parse, parseNumberAndBigInt } from "lossless-json";
import { z } from "zod";
import { apiFields } from "../support/api-fields.ts";

export interface Service {
  readonly url: string;
  readonly token: string;
}

const recordSchema = z.record(z.string(), z.unknown());
export type ApiRecord = z.output<typeof recordSchema>;

/** Key (parts joined by `/`) → record under its API names. */
export type ApiTable = ReadonlyMap<string, ApiRecord>;
export type ApiTables = Readonly<Record<string, ApiTable>>;

const envelopeSchema = z.looseObject({
  status: z.string().optional(),
  data: z.unknown().optional(),
  included: z.record(z.string(), z.unknown()).optional(),
  meta: z.looseObject({ totalCount: z.coerce.number().optional(), totalPages: z.coerce.number().optional() }),
});

/** Every documented field of a resource, as `onlyWithFields`. */
const everyField = (resource: string): string => Object.keys(apiFields.resources[resource] ?? {}).join(",");

/** GET; the parsed body, or null for a 404. Anything else throws. */
export const readJson = async ({ url, token }: Service, path: string) => {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const body = await response.text();
  if (response.status === 404) return null;
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body.slice(0, 300)}`);
  return envelopeSchema.parse(parse(body, undefined, parseNumberAndBigInt));
};

const needed = async (service: Service, path: string) => {
  const answer = await readJson(service, path);
  if (answer === null) throw new Error(`${path}: 404`);
  return answer;
};

/** Applies `work` to every item, a few at a time. */
const each = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const queue = items.map((item, index) => ({ item, index }));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      results[next.index] = await work(next.item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return results;
};

const PAGE = 50;

/** Every row of a list that stands still, and the records embedded in its pages. Throws when it does not add up. */
const readList = async (service: Service, path: string, query = "") => {
  const rows: ApiRecord[] = [];
  const included: Record<string, ApiRecord[]> = {};
  for (let page = 1, pages = 1; page <= pages; page++) {
    const answer = await needed(service, `${path}?perPage=${PAGE}&page=${page}${query}`);
    rows.push(...z.array(recordSchema).parse(answer.data));
    for (const [name, records] of Object.entries(answer.included ?? {})) {
      included[name] = [...(included[name] ?? []), ...z.array(recordSchema).parse(records)];
    }
    pages = answer.meta.totalPages ?? 0;
    if (page >= pages && rows.length !== answer.meta.totalCount) throw new Error(`${path} does not add up`);
  }
  return { rows, included };
};

const keyed = (records: readonly ApiRecord[], ...key: readonly string[]): ApiTable =>
  new Map(records.map((record) => [key.map((name) => String(record[name])).join("/"), record]));

const without = (record: ApiRecord, names: readonly string[]): ApiRecord =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

const COMPANY_LISTS = [
  ["news_articles", "news-articles", "News article"],
  ["job_openings", "job-openings", "Job opening"],
  ["earnings_calls", "earnings-calls", "Earnings call"],
  ["filings", "filings", "Filing"],
] as const;

/** The public data of companies. `content`: with every opt-in field. */
const readCompanies = async (service: Service, ids: readonly string[], content: boolean): Promise<ApiTables> => {
  const fields = content ? `?onlyWithFields=${everyField("Company (public)")}` : "";
  const companies = await each(ids, async (id) => {
    const { data } = await needed(service, `/v1/companies/${encodeURIComponent(id)}${fields}`);
    return recordSchema.parse(data);
  });
  const lists = await each(COMPANY_LISTS, async ([table, path, resource]) => {
    const query = content ? `&onlyWithFields=${everyField(resource)}` : "";
    const rows = await each(ids, async (id) => {
      const list = await readList(service, `/v1/companies/${encodeURIComponent(id)}/${path}`, query);
      return list.rows.map((row) => ({ companyId: id, ...row }));
    });
    return [table, keyed(rows.flat(), "companyId", "id")] as const;
  });
  return { companies: keyed(companies, "id"), ...Object.fromEntries(lists) };
};

const readInsights = async (service: Service, accountIds: readonly string[]): Promise<ApiTable> => {
  const insights = await each(accountIds, async (accountId) => {
    const { status, data } = await needed(service, `/v1/account-insights?accountId=${accountId}`);
    return { accountId: BigInt(accountId), status, ...recordSchema.parse(data) };
  });
  return keyed(insights, "accountId");
};

/** Details of a list's records; throws if a field of the list reads differently there. */
const readDetails = (service: Service, path: string, rows: readonly ApiRecord[]) =>
  each(rows, async (row) => {
    const { data } = await needed(service, `${path}/${encodeURIComponent(String(row.id))}`);
    return recordSchema.parse(data);
  });

/** What a mirror without opt-in content lacks; `sources` come with the list for nothing, when they are named. */
const OPT_IN = ["fullContent"];

const BOTH = "latestEarningsCall,latestEarningsCallAnalysis";

/** What the service embeds beside a company that is asked for by an input: its latest call, with the analysis. */
const readLatestCall = async (service: Service, input: string): Promise<readonly ApiRecord[]> => {
  const answer = await readJson(service, `/v1/companies/by-input/${encodeURIComponent(input)}?include=${BOTH}`);
  const call = recordSchema.safeParse(answer?.included?.latestEarningsCall);
  const analysis = answer?.included?.latestEarningsCallAnalysis;
  return call.success && analysis !== undefined ? [{ ...call.data, generatedAnalysis: analysis }] : [];
};

/** The tables with these calls in place of those of the list, which lack an opt-in field. */
const withCalls = (tables: ApiTables, calls: readonly ApiRecord[]): ApiTables => ({
  ...tables,
  earnings_calls: new Map([...(tables.earnings_calls ?? []), ...keyed(calls, "companyId", "id")]),
});

/** Companies whose data is read: those of accounts, and of inputs that are followed besides. */
const companyIds = (accounts: readonly ApiRecord[], followed: readonly string[]): readonly string[] => [
  ...new Set([
    ...accounts.flatMap(({ companyId }) => (companyId === undefined ? [] : [String(companyId)])),
    ...followed,
  ]),
];

/** Everything the service offers now. `content`: with all opt-in and detail-only fields; `followed`: inputs to resolve. */
export const readService = async (
  service: Service,
  { content = false, followed = [] }: { readonly content?: boolean; readonly followed?: readonly string[] } = {},
): Promise<ApiTables> => {
  const resolved = await each(followed, async (input) => {
    const answer = await readJson(service, `/v1/companies/by-input/${encodeURIComponent(input)}`);
    const companyId = answer === null ? undefined : String(recordSchema.parse(answer.data).id);
    return { input, companyId, status: answer === null ? "not_found" : "found" };
  });
  const { rows: accounts, included } = await readList(service, "/v1/accounts", "&include=owner&sortBy=id");
  const { rows: contacts } = await readList(service, "/v1/contacts", "&sortBy=id");
  const { rows: signals } = await readList(service, "/v1/signals", "&sortBy=id");
  const signalDetails = await readDetails(service, "/v1/signals", signals);
  const ids = companyIds(
    accounts,
    resolved.flatMap(({ companyId }) => companyId ?? []),
  );
  const owners = (included.owners ?? []).map((owner) => ({ id: owner.id, data: owner }));
  return {
    // Lists and details are two ways to the same record: the mirror must equal both, so the details are what counts.
    accounts: keyed(await readDetails(service, "/v1/accounts", accounts), "id"),
    contacts: keyed(await readDetails(service, "/v1/contacts", contacts), "id"),
    signals: keyed(
      signalDetails.map((signal) => (content ? signal : without(signal, OPT_IN))),
      "id",
    ),
    owners: keyed(owners, "id"),
    company_inputs: keyed(resolved, "input"),
    account_insights: await readInsights(
      service,
      accounts.map(({ id }) => String(id)),
    ),
    ...withCalls(
      await readCompanies(service, ids, content),
      content ? [] : (await each(followed, (input) => readLatestCall(service, input))).flat(),
    ),
  };
};
