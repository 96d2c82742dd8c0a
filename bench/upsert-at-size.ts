// Measures what a commit costs in a small and in a large table (docs/decisions/0001-load-path.md).
// Run: npx tsx bench/upsert-at-size.ts 100000 1000000. Five commits each; medians in ms, ratios to the first size.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableSpec } from "../src/catalog/tables.ts";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../src/warehouse/warehouse.ts";

const ROUNDS = 5;
const asked = new Set(
  tableSpec("signals")
    .fields.filter(({ optIn, detailOnly }) => !optIn && !detailOnly)
    .map(({ name }) => name),
);
let requests = 0;

/** Commits rows of about 1.2 KB with these ids, all changed. */
const commit = async (warehouse: Warehouse, ids: readonly number[]) => {
  const requestId = `q${++requests}`;
  const filler = `text ${requests} `.repeat(40);
  const records = ids.map((id) => ({
    id,
    organizationId: "org",
    accountId: id % 2000,
    type: "podcast",
    headline: `Signal ${id}`,
    description: filler,
    date: "2024-05-05T10:00:00Z",
    relevance: { why: filler, score: id % 100 },
    createdAt: "2024-05-05T10:00:00Z",
    updatedAt: "2024-05-05T10:00:00Z",
  }));
  const load = { stream: "signals", table: "signals", records, asked, fromPath: {}, walkId: null } as const;
  const start = performance.now();
  await warehouse.commit({
    runId: "bench",
    loads: [{ ...load, requestId, receivedAt: Date.now() }],
    requests: [],
    scopes: [],
    quota: null,
  });
  return performance.now() - start;
};

const fill = async (warehouse: Warehouse, rows: number) => {
  for (let at = 0; at < rows; at += 500_000) {
    await warehouse.database.run(
      `INSERT INTO signals (id, organization_id, account_id, type, headline, description, date, sources, relevance,
         created_at, updated_at, _first_synced_at, _synced_at, _run_id)
       SELECT i, 'org', i % 2000, 'podcast', 'Signal ' || i, repeat(md5(i::VARCHAR), 6), TIMESTAMPTZ '2024-01-01',
         ['https://a.example/' || i], '{"why":"' || repeat(md5((i * 7)::VARCHAR), 4) || '"}', TIMESTAMPTZ '2024-01-01',
         TIMESTAMPTZ '2024-01-01', TIMESTAMPTZ '2024-01-01', TIMESTAMPTZ '2024-01-01', 'fill'
       FROM range(${at}, ${Math.min(rows, at + 500_000)}) r(i)`,
    );
  }
  await warehouse.database.flushWal();
};

const measure = async (rows: number): Promise<Map<string, number>> => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-upsert-"));
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  await fill(warehouse, rows);
  const results = new Map<string, number>();
  for (const batch of [1000, 10_000]) {
    const kinds: Record<string, (round: number) => number[]> = {
      newest: () => Array.from({ length: batch }, (_, i) => rows - 1 - i),
      scattered: (round) => [
        ...new Set(Array.from({ length: batch }, (_, i) => ((i + round * batch) * 7_919_993) % rows)),
      ],
      new: (round) => Array.from({ length: batch }, (_, i) => rows * 2 + (batch * 10 + round) * 100_000 + i),
    };
    for (const [kind, idsOf] of Object.entries(kinds)) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) times.push(await commit(warehouse, idsOf(round)));
      results.set(`${batch} ${kind}`, times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0);
    }
  }
  await warehouse.close();
  rmSync(dataDir, { recursive: true, force: true });
  return results;
};

const main = async (sizes: readonly number[]) => {
  // A run that is not counted: else the first size pays for compiling the code and the ratios flatter the others.
  await measure(sizes[0] ?? 100_000);
  let first: Map<string, number> | null = null;
  for (const size of sizes) {
    const results = await measure(size);
    first ??= results;
    for (const [name, ms] of results) {
      const ratio = ms / (first.get(name) ?? ms);
      process.stdout.write(
        `${String(size).padStart(10)} rows  ${name.padEnd(16)} ${ms.toFixed(0).padStart(6)} ms  x${ratio.toFixed(2)}\n`,
      );
    }
  }
};

const sizes = process.argv.slice(2).map(Number);
await main(sizes.length > 0 ? sizes : [100_000, 1_000_000]);
