// The rows that the benchmark's service answers with: those of a sandbox, read over its own routes once.
import { z } from "zod";
import { startSandbox } from "../src/sandbox/sandbox.ts";
import { type ListRow, listRow } from "./peer-list.ts";

export interface World {
  /** Path of each list → its rows, as the sandbox orders them. */
  readonly lists: ReadonlyMap<string, readonly ListRow[]>;
  /** `company` and `owner` → id → record as it is sent. */
  readonly related: Readonly<Record<"company" | "owner", ReadonlyMap<string, string>>>;
}

export interface WorldOptions {
  readonly seed: number;
  readonly accounts: number;
  /** Whether the lists of their companies are wanted too: four requests for each. */
  readonly companyLists: boolean;
}

export const ORGANIZATION_LISTS = ["accounts", "contacts", "signals"] as const;
export const COMPANY_LISTS = ["news-articles", "job-openings", "earnings-calls", "filings"] as const;

const EVERYTHING = 10_000_000;

const record = z.record(z.string(), z.unknown());
const answer = z.object({
  data: z.array(record),
  included: z
    .object({ companies: z.array(record), owners: z.array(record) })
    .partial()
    .optional(),
});

/** Generates the rows; the same options give the same ones on the same day. */
export const readWorld = async ({ seed, accounts, companyLists }: WorldOptions): Promise<World> => {
  const rate = { requestsPerMinute: 10_000_000, credits: 10_000_000 };
  const sandbox = await startSandbox({ seed, accounts, maxPerPage: EVERYTHING, ...rate });
  const read = async (path: string, include = "") => {
    const response = await fetch(`${sandbox.url}${path}?perPage=${EVERYTHING}${include}`, {
      headers: { authorization: `Bearer ${sandbox.token}` },
    });
    return answer.parse(await response.json());
  };
  const byId = (records: readonly z.infer<typeof record>[] = []) =>
    new Map(records.map((fields) => [String(fields.id), JSON.stringify(fields)]));
  try {
    const lists = new Map<string, readonly ListRow[]>();
    const tracked = await read("/v1/accounts", "&include=company,owner");
    for (const name of ORGANIZATION_LISTS) {
      const { data } = name === "accounts" ? tracked : await read(`/v1/${name}`);
      lists.set(`/v1/${name}`, data.map(listRow));
    }
    const companies = byId(tracked.included?.companies);
    for (const id of companyLists ? companies.keys() : []) {
      for (const name of COMPANY_LISTS) {
        const path = `/v1/companies/${id}/${name}`;
        lists.set(path, (await read(path)).data.map(listRow));
      }
    }
    return { lists, related: { company: companies, owner: byId(tracked.included?.owners) } };
  } finally {
    await sandbox.close();
  }
};
