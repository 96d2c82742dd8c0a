// Case throughput: a first mirror without rate limit (new warehouse, requests, parse, check, archive, load, publish)
// against DuckDB's own read_json of the same bodies into the same tables, which does nothing else. The service answers
// from memory in a process of its own; the two take turns, the first turn of each is not counted: code is compiled in it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchCase, type Figure, ofRounds } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { EVERY, effortOf, type ListTable, loadByDuckDb, ORGANIZATION, writeBodies } from "./plain-load.ts";
import { record, serveRecording } from "./recorded-service.ts";

const ROUNDS = 7;
const LEAST_SHARE = 0.5;

interface Setting {
  readonly what: string;
  readonly accounts: number;
  readonly maxPerPage: number;
  readonly tables: readonly ListTable[];
}

const SETTINGS: readonly Setting[] = [
  { what: "organization lists, 1000 rows a page", accounts: 400, maxPerPage: 1000, tables: ORGANIZATION },
  { what: "the same, seven times as long", accounts: 2600, maxPerPage: 1000, tables: ORGANIZATION },
  { what: "every list, 100 rows a page", accounts: 150, maxPerPage: 100, tables: EVERY },
];

const compare = async ({ what, accounts, maxPerPage, tables }: Setting): Promise<readonly Figure[]> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-throughput-"));
  const source = await startBenchMirror({ accounts, seed: 10, maxPerPage });
  try {
    const recording = record(source.sandbox);
    const first = await source.sync({ streams: tables });
    const listed = first.streams.filter(({ stream }) => tables.some((table) => table === stream));
    const rows = listed.reduce((sum, { inserted }) => sum + inserted, 0);
    await writeBodies(recording, tables, dir);
    const service = await serveRecording(recording);
    const shares: number[] = [];
    const cpuShares: number[] = [];
    try {
      for (let round = 0; round <= ROUNDS; round++) {
        const dataDir = join(dir, `mirror-${round}`);
        const env = { DUCKMIRROR_BASE_URL: service.url, DUCKMIRROR_DATA_DIR: dataDir };
        const mirror = await effortOf(() => source.sync({ streams: tables }, env));
        const plain = await loadByDuckDb(dir, tables, `plain-${round}.duckdb`);
        await rm(dataDir, { recursive: true });
        if (round === 0) continue;
        shares.push(plain.seconds / mirror.seconds);
        cpuShares.push(plain.cpuSeconds / mirror.cpuSeconds);
      }
    } finally {
      await service.close();
    }
    return [
      { measure: what, value: `${rows} rows in ${first.requests} requests`, aim: "", reached: null },
      ofRounds(`${what}: rows per second, of read_json's`, shares, { least: LEAST_SHARE }),
      ofRounds(`${what}: rows per second of processor time, of read_json's`, cpuShares),
    ];
  } finally {
    await source.close();
    await rm(dir, { recursive: true, force: true });
  }
};

export const throughput: BenchCase = {
  id: "throughput",
  title: `First mirror without a rate limit against DuckDB's read_json of the same bodies, medians of ${ROUNDS} rounds`,
  run: async () => {
    const figures: Figure[] = [];
    for (const setting of SETTINGS) figures.push(...(await compare(setting)));
    return figures;
  },
};
