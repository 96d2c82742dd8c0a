// Case upsert: what a commit of changes costs in a large table, against the same commit in one of 100,000 rows. The two
// take turns; processor time is compared, because the wall clock shows what else the machine does. The first round of
// each is not counted. `--size 10000000` names the large table's rows.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableSpec } from "../src/catalog/tables.ts";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../src/warehouse/file/warehouse.ts";
import { type BenchCase, type Figure, ofRounds } from "./case.ts";

const SMALL = 100_000;
const LARGE = 1_000_000;
const ROUNDS = 5;
const BATCHES = [100, 1000, 10_000];
const MOST_GROWTH = 1.3;
const FILL_ROWS = 500_000;

/** Unchanged first: they have to be what the table was filled with. */
const KINDS = ["unchanged", "newest", "scattered", "new"] as const;
type Kind = (typeof KINDS)[number];

const asked = new Set(
  tableSpec("signals")
    .fields.filter(({ optIn, detailOnly }) => !optIn && !detailOnly)
    .map(({ name }) => name),
);

/** Fills the table with rows of about 450 bytes that have most of their text for themselves; `filled` says the same. */
const fill = async (warehouse: Warehouse, rows: number) => {
  for (let at = 0; at < rows; at += FILL_ROWS) {
    await warehouse.database.run(
      `INSERT INTO signals (id, organization_id, account_id, type, headline, description, date, sources, relevance,
         created_at, updated_at, _first_synced_at, _synced_at, _run_id)
       SELECT i, 'org', i % 2000, 'podcast', 'Signal ' || i || ' about ' || digest[:8],
         'As the company said in note ' || digest || ', more people than last year work at site ' || digest[9:20] || '.',
         day, ['https://a.example/' || digest], '{"why":"named in ' || digest || '","score":' || i % 100 || '}',
         day, day, TIMESTAMPTZ '2024-01-01', TIMESTAMPTZ '2024-01-01', 'fill'
       FROM (SELECT i, md5(i::VARCHAR) AS digest, TIMESTAMPTZ '2020-01-01' + to_seconds(i * 15) AS day
         FROM range(${at}, ${Math.min(rows, at + FILL_ROWS)}) r(i))`,
    );
  }
  await warehouse.database.flushWal();
};

const START = Date.UTC(2020, 0, 1);

/** The record of an id as the table was filled, or with another `version` of its description. */
const record = (id: number, version: number | null) => {
  const digest = createHash("md5").update(String(id)).digest("hex");
  const day = new Date(START + id * 15_000).toISOString();
  const first = `As the company said in note ${digest}, more people than last year work at site ${digest.slice(8, 20)}.`;
  return {
    id,
    organizationId: "org",
    accountId: id % 2000,
    type: "podcast",
    headline: `Signal ${id} about ${digest.slice(0, 8)}`,
    description: version === null ? first : `${first} Version ${version}.`,
    date: day,
    sources: [`https://a.example/${digest}`],
    relevance: { why: `named in ${digest}`, score: id % 100 },
    createdAt: day,
    updatedAt: day,
  };
};

interface Table {
  readonly rows: number;
  readonly warehouse: Warehouse;
}

let requests = 0;

/** CPU time of a commit of these ids, ms; without a version, as they were at first. */
const commit = async (table: Table, ids: readonly number[], version: number | null): Promise<number> => {
  const records = ids.map((id) => record(id, version));
  const requestId = `q${++requests}`;
  const load = { stream: "signals", table: "signals", records, asked, fromPath: {}, walkId: null } as const;
  const loads = [{ ...load, requestId, receivedAt: Date.now() }];
  const before = process.cpuUsage();
  const [counts] = await table.warehouse.commit({ runId: "bench", loads, requests: [], scopes: [], quota: null });
  const { user, system } = process.cpuUsage(before);
  const written = (counts?.inserted ?? 0) + (counts?.updated ?? 0);
  if (written !== (version === null ? 0 : ids.length)) throw new TypeError(`${written} of ${ids.length} rows written`);
  return (user + system) / 1000;
};

/** Ids that stand all over the table: the prime is none of the factors of its size. */
const scattered = (rows: number, from: number, batch: number) =>
  Array.from({ length: batch }, (_, index) => ((from + index) * 7_919_993) % rows);

const costOf = (table: Table, kind: Kind, batch: number, round: number): Promise<number> => {
  const { rows } = table;
  const version = requests;
  switch (kind) {
    case "unchanged":
      return commit(table, scattered(rows, (round % 4) * batch, batch), null);
    case "newest": {
      const ids = Array.from({ length: batch }, (_, index) => rows - 1 - index);
      return commit(table, ids, version);
    }
    case "scattered":
      return commit(table, scattered(rows, round * batch, batch), version);
    case "new": {
      const ids = Array.from({ length: batch }, (_, index) => rows * 2 + version * 100_000 + index);
      return commit(table, ids, version);
    }
    default:
      return kind satisfies never;
  }
};

const openTable = async (rows: number): Promise<Table & { readonly close: () => Promise<void> }> => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-bench-upsert-"));
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  await fill(warehouse, rows);
  return {
    rows,
    warehouse,
    close: async () => {
      await warehouse.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

export const upsert: BenchCase = {
  id: "upsert",
  title: `Commit of signals into a large table, processor time against ${SMALL.toLocaleString("en")} rows, medians of ${ROUNDS} rounds`,
  run: async () => {
    const at = process.argv.indexOf("--size");
    const size = at === -1 ? LARGE : Number(process.argv[at + 1]);
    const small = await openTable(SMALL);
    const large = await openTable(size);
    try {
      const figures: Figure[] = [];
      for (const kind of KINDS) {
        for (const batch of BATCHES) {
          const ratios: number[] = [];
          for (let round = 0; round <= ROUNDS; round++) {
            const of = await costOf(small, kind, batch, round);
            const against = await costOf(large, kind, batch, round);
            if (round > 0) ratios.push(against / of);
          }
          const where =
            kind === "newest" || kind === "new" ? kind : `${kind === "scattered" ? "changed" : kind}, scattered`;
          const measure = `${batch.toLocaleString("en")} rows, ${where}, into ${size.toLocaleString("en")}`;
          figures.push(ofRounds(measure, ratios, { most: MOST_GROWTH }));
        }
      }
      return figures;
    } finally {
      await small.close();
      await large.close();
    }
  },
};
