// The mirror holds exactly what the service serves: compared through the API, row for row and field for field.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { SandboxOptions } from "../../src/sandbox/options.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { aSandbox, syncWell } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { readJson, readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";

const ALL_CONTENT = "articleBody,jobDescription,fullTranscript,generatedAnalysis,fullContent,insights";

const COUNTED = ["accounts", "contacts", "signals", "companies", "news_articles", "job_openings", "earnings_calls"];

/** A mirror of a service, of a company nobody tracks, by its domain, and of an input that nobody knows. */
const aMirror = async (name: string, options: SandboxOptions, content: boolean) => {
  const sandbox = await aSandbox({ accounts: 25, ...options });
  const [untracked] = await sandbox.database.query(
    `SELECT domain FROM main.companies WHERE domain IS NOT NULL
       AND id NOT IN (SELECT company_id FROM main.accounts WHERE company_id IS NOT NULL) ORDER BY id LIMIT 1`,
    [],
    z.object({ domain: z.string() }),
  );
  const followed = [untracked?.domain ?? "", "nobody-knows.example"];
  const { warehouse: snapshot } = await syncWell(sandbox, tempFolder(), [], {
    DUCKMIRROR_COMPANIES: followed.join(","),
    ...(content ? { DUCKMIRROR_CONTENT: ALL_CONTENT } : {}),
  });
  return { name, sandbox, content, followed, snapshot };
};

describe.each([
  await aMirror("a first mirror", { seed: 11 }, false),
  await aMirror(
    "a first mirror with every opt-in field and ids beyond 2^53",
    { seed: 12, accounts: 15, bigIds: true },
    true,
  ),
])("$name", ({ sandbox, content, followed, snapshot }) => {
  test("equals every list and every detail of the service", async () => {
    const service = await readService(sandbox, { content, followed });
    for (const table of COUNTED) expect(service[table]?.size, table).toBeGreaterThan(0);
    expect(await differences(snapshot, service)).toEqual([]);
  });

  test("has the signal counts the service has", async () => {
    const answer = await readJson(sandbox, "/v1/signals/counts");
    const { rows } = await runQuery({ snapshot, sql: "SELECT type, count FROM signal_counts" });
    expect(Object.fromEntries(rows.map(([type, count]) => [type, BigInt(Number(count))]))).toEqual(answer?.data);
  });

  test("has the request history up to where it was read, and the contracted limits", async () => {
    const { rows } = await runQuery({
      snapshot,
      sql: "SELECT id, endpoint, successful, error, api_key_id FROM usage_requests ORDER BY id",
    });
    const ids = rows.map(([id]) => Number(id));
    const last = Math.max(...ids);
    const history = new Map<number, readonly unknown[]>();
    for (let page = 1, more = true; more; page++) {
      const answer = await readJson(sandbox, `/v1/usage/requests?perPage=50&page=${page}`);
      const items = z.array(z.looseObject({ id: z.coerce.number() })).parse(answer?.data);
      for (const item of items) {
        const { endpoint, successful, error = null, apiKeyId } = item;
        if (item.id <= last) history.set(item.id, [item.id, endpoint, successful, error, apiKeyId]);
      }
      more = items.length > 0;
    }
    expect(rows).toEqual([...history.values()].sort((a, b) => Number(a[0]) - Number(b[0])));
    const limits = await readJson(sandbox, "/v1/usage/limits");
    const mirrored = await runQuery({ snapshot, sql: "SELECT CAST(data AS VARCHAR) FROM usage_limits" });
    expect(mirrored.rows.map(([text]) => JSON.parse(String(text)))).toEqual([
      JSON.parse(
        JSON.stringify(limits?.data, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
      ),
    ]);
  });

  test("keeps nothing aside: no rejects, no unknown fields", async () => {
    const { rows } = await runQuery({
      snapshot,
      sql: "SELECT (SELECT count(*) FROM sync.rejects), (SELECT count(*) FROM sync.schema_drift)",
    });
    expect(rows).toEqual([[0, 0]]);
  });
});
