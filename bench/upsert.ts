// Case upsert: what a commit of changes costs in a large table, against the same commit in one of 100,000 rows. The two
// take turns; processor time is compared, because the wall clock shows what else the machine does. The first round of
// each is not counted. `--size 10000000` names the large table's rows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../src/warehouse/file/warehouse.ts";
import { type BenchCase, type Figure, ofRounds } from "./case.ts";
import { asked, fill, record, scattered } from "./many-signals.ts";
import { options } from "./options.ts";

const SMALL = 100_000;
const LARGE = 1_000_000;
const ROUNDS = 5;
const BATCHES = [100, 1000, 10_000];
const MOST_GROWTH = 1.3;

/** Unchanged first: they have to be what the table was filled with. */
const KINDS = ["unchanged", "newest", "scattered", "new"] as const;
type Kind = (typeof KINDS)[number];

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
    const { size = LARGE } = options;
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
