// Plans, syncs, verifies and exports a list of podcasts, in a copy of the program that has one. Prints what came of it.
// Run by test/src/catalog/made-up-stream.test.ts.
import { exportJob } from "../../jobs/export.ts";
import { planJob } from "../../jobs/plan.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { STREAM_NAMES } from "../../src/catalog/streams.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { anOrganization } from "./fake-data.ts";
import { createFakeService } from "./fake-service.ts";
import { startSyncRig } from "./sync-rig.ts";

const podcasts: Record<string, { id: string; title: string; airedOn: string }[]> = {
  c_1: [
    { id: "p1", title: "First", airedOn: "2026-01-02T00:00:00Z" },
    { id: "p2", title: "Second", airedOn: "2026-01-01T00:00:00Z" },
  ],
  c_2: [{ id: "p3", title: "Third", airedOn: "2026-01-03T00:00:00Z" }],
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
const config = resolveConfig({
  flags: {},
  env: { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_STREAMS: streams.join(",") },
  file: null,
  cwd: rig.dataDir,
  vocabulary: vocabulary(),
});
const request = { streams: [], full: false, maxDurationMs: null, allowMassDelete: false };
const clock = { now: () => Date.now(), sleep: async () => undefined };
const named = (rows: readonly Record<string, unknown>[]) => rows.map((row) => Object.values(row).join(" "));
const mirrored = async () => named(await rig.rows("SELECT company_id, id, title FROM podcasts ORDER BY id"));
const asked = () => service.log.filter(({ path }) => path.endsWith("/podcasts")).length;

await rig.sync({ streams: STREAM_NAMES.filter((name) => name === "accounts") });
const plan = await planJob(config, request, clock);
const planned = plan.forecast.streams.find(({ stream }) => String(stream) === "podcasts");
const first = (await rig.sync()).report.streams.find(({ stream }) => String(stream) === "podcasts");
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
process.stdout.write(
  JSON.stringify({
    planned: { credits: planned?.requests, because: planned?.because.map(({ reason }) => reason) },
    first: { complete: first?.complete, rows: first?.inserted },
    rows,
    unchanged,
    found: report.differences.map((found) => named([{ ...found, repaired: "repaired" }])[0]),
    repaired: { rows: await mirrored(), history: history.length },
    exported: exported.rows,
  }),
);
await rig.close();
