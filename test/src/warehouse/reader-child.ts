// A process of its own with twenty readers: on each line of its input every reader that is free opens the snapshot, reads
// it and closes it. Says `reading` when each has read once; when its input ends, how often they read and how many
// versions they met, or what went wrong.
import { createInterface } from "node:readline";
import { z } from "zod";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";

const [snapshot = ""] = process.argv.slice(2);
const SQL = "SELECT count(*) AS n, count(DISTINCT headline) AS versions, max(headline) AS version FROM signals";
const row = z.object({ n: z.number(), versions: z.number(), version: z.string() });
const say = (line: string) => new Promise<void>((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
const met = new Set<string>();
let reads = 0;

const readOnce = async () => {
  const database = await openDatabase(snapshot, { readOnly: true, threads: 1 });
  const [found] = await database.query(SQL, [], row);
  await database.close();
  // Every commit gives all rows the same headline: two headlines are half a commit.
  if (found?.n !== 100 || found.versions !== 1) throw new Error(`read ${JSON.stringify(found)}`);
  met.add(found.version);
  reads += 1;
};

const READERS = 20;
const busy: (Promise<void> | null)[] = Array.from({ length: READERS }, () => null);
const readTogether = () => {
  busy.forEach((reading, reader) => {
    if (reading !== null) return;
    busy[reader] = readOnce().then(() => {
      busy[reader] = null;
    });
  });
};

try {
  await Promise.all(Array.from({ length: READERS }, readOnce));
  await say("reading");
  for await (const _ of createInterface({ input: process.stdin })) readTogether();
  await Promise.all(busy);
  await say(`${reads} ${met.size}`);
} catch (error) {
  await say(`failed: ${String(error)}`);
}
