// Plans, syncs, verifies and exports a list of podcasts, in a copy of the program that has one. Prints what came of it.
// Run by test/src/catalog/made-up-stream.test.ts.

import { join } from "node:path";
import { z } from "zod";
import { deliverJob } from "../../jobs/deliver.ts";
import { exportJob } from "../../jobs/export.ts";
import { planJob } from "../../jobs/plan.ts";
import { STREAM_NAMES } from "../../src/catalog/streams.ts";
import { writeEnvelope } from "../../src/replica/envelope.ts";
import { openApiDocument } from "../../src/replica/openapi/document.ts";
import { matchRoute } from "../../src/replica/query/route-match.ts";
import { createReplica } from "../../src/replica/replica.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { readTraces } from "../../src/warehouse/read/read-run.ts";
import { readStatus } from "../../src/warehouse/read/read-status.ts";
import { search } from "../../src/warehouse/read/search/search.ts";
import { emptyCopy, mapDestination } from "../src/deliver/copies.ts";
import { anOrganization } from "./fake-data.ts";
import { createFakeService } from "./fake-service.ts";
import { configOf } from "./given-config.ts";
import { startSyncRig } from "./sync-rig.ts";

const podcasts: Record<string, { id: string; title: string; airedOn?: string }[]> = {
  c_1: [
    { id: "p1", title: "First", airedOn: "2026-01-02T00:00:00Z" },
    { id: "p2", title: "Second", airedOn: "2026-01-01T00:00:00Z" },
  ],
  c_2: [{ id: "p3", title: "Third" }],
};
const service = createFakeService(anOrganization(2), {
  before: ({ path }) => {
    const company = /^\/v1\/companies\/(\w+)\/podcasts$/.exec(path)?.[1];
    const data = company === undefined ? undefined : podcasts[company];
    if (data === undefined) return undefined;
    return { status: 200, body: { status: "ok", data, meta: { page: 1, perPage: 100, totalCount: data.length } } };
  },
});
const streams = ["accounts", "companies", "podcasts"];
const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: streams.join(",") });
const config = configOf(null, {
  DUCKMIRROR_DATA_DIR: rig.dataDir,
  DUCKMIRROR_STREAMS: streams.join(","),
  DUCKMIRROR_DESTINATIONS: JSON.stringify([{ name: "copy", kind: "postgres", url: "postgres://db.example/mirror" }]),
});
const request = {};
const clock = { now: () => Date.now(), sleep: async () => undefined };
const named = (rows: readonly Record<string, unknown>[]) => rows.map((row) => Object.values(row).join(" "));
const mirrored = async () => named(await rig.rows("SELECT company_id, id, title FROM podcasts ORDER BY id"));
const asked = () => service.log.filter(({ path }) => path.endsWith("/podcasts")).length;

await rig.sync({ streams: STREAM_NAMES.filter((name) => name === "accounts") });
const plan = await planJob(config, request, clock);
const planned = plan.forecast.streams.find(({ stream }) => String(stream) === "podcasts");
const { report: firstReport } = await rig.sync();
const first = firstReport.streams.find(({ stream }) => String(stream) === "podcasts");
const rows = await mirrored();
const before = asked();
await rig.sync();
const unchanged = asked() - before;
const one = podcasts.c_1?.[0];
if (one !== undefined) one.title = "Renamed";
const { report } = await rig.verify({ maxCredits: 60, repair: true });
const history = await rig.rows("SELECT id FROM history.podcasts");
const exported = await exportJob(
  config,
  { dir: null, format: "ndjson", tables: ["podcasts"], since: null, guardFormulas: false },
  { signal: new AbortController().signal },
);
const freshness = await rig.rows(
  "SELECT table_name, stream, row_count, scopes, complete FROM marts.freshness WHERE table_name = 'podcasts'",
);
const quality = await rig.rows(
  "SELECT field, check_name, affected FROM marts.data_quality WHERE table_name = 'podcasts'",
);
const snapshot = join(rig.dataDir, "warehouse.duckdb");
const status = (await readStatus(snapshot, { runs: 1 })).tables.find(({ table_name }) => table_name === "podcasts");
const traces = await readTraces(snapshot, firstReport.run_id, new Set());
const database = await openDatabase(snapshot, { readOnly: true });
const replica = createReplica({ database, clock, tier: () => "full" });
const route = matchRoute("GET", "/v1/companies/c_1/podcasts");
const body = writeEnvelope(await replica.answer({ match: route, query: {} }), {
  requestId: "r",
  now: 0,
  usage: null,
});
const [searched] = await search(database, { words: "renamed", tables: ["podcasts"], limit: 1 });
await database.close();
const copy = emptyCopy();
const [delivery] = await deliverJob(
  config,
  { names: [], takeOver: false },
  { clock, signal: new AbortController().signal, open: async () => mapDestination(copy) },
);
const documented = openApiDocument("http://localhost");
await rig.sync({ full: true }, { DUCKMIRROR_SCOPE: JSON.stringify({ accounts: { ids: ["1"] } }) });
process.stdout.write(
  JSON.stringify({
    planned: { credits: planned?.requests, because: planned?.because.map(({ reason }) => reason) },
    first: { complete: first?.complete, rows: first?.inserted },
    rows,
    unchanged,
    found: report.differences.map((found) => named([{ ...found, repaired: "repaired" }])[0]),
    repaired: { rows: await mirrored(), history: history.length },
    exported: exported.rows,
    freshness: named(freshness),
    quality: named(quality),
    status: status?.row_count,
    searched: `${searched?.table} ${searched?.title}`,
    delivered: delivery?.error?.message ?? copy.tables.get("podcasts")?.size,
    served: named(
      z.object({ data: z.array(z.object({ id: z.string(), title: z.string() })) }).parse(JSON.parse(body)).data,
    ),
    documented: "/v1/companies/{companyId}/podcasts" in documented.paths && "Podcast" in documented.components.schemas,
    written: traces
      .filter(({ stream }) => stream === "podcasts")
      .map(({ stream, inserted }) => `${stream} ${inserted}`),
    outside: named(await rig.rows("SELECT company_id, id FROM podcasts WHERE NOT _in_scope")),
  }),
);
await rig.close();
