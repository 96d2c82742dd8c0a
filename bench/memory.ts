// Case memory: the most memory a first mirror of a long list ever holds: `duckmirror sync` as built, in a process of its
// own, against a service in another one. `--size 10000000` adds a mirror of so many rows and compares it with the first.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { atMost, type BenchCase, type Figure, ratio } from "./case.ts";
import { options } from "./options.ts";
import { runProgram } from "./program.ts";

const ROWS = 1_000_000;
const MOST_MIB = 400;
const MOST_GROWTH = 1.2;

const report = z.object({ status: z.literal("done"), streams: z.tuple([z.object({ inserted: z.number() })]) });

/** Starts the service; answers with its address. */
const startService = async (rows: number) => {
  const script = fileURLToPath(new URL("./long-list-service.js", import.meta.url));
  const service = spawn(process.execPath, [script, String(rows)], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(service.stdout, "data");
  return { url: String(line).trim(), stop: () => service.kill() };
};

const mirror = async (rows: number) => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-memory-"));
  const service = await startService(rows);
  try {
    const env = {
      DUCKMIRROR_BASE_URL: service.url,
      DUCKMIRROR_TOKEN: "bench",
      DUCKMIRROR_DATA_DIR: dir,
      DUCKMIRROR_RATE_LIMIT: "1000000",
    };
    const run = await runProgram(["sync", "signals", "--json", "--quiet"], env, dir);
    const { streams } = report.parse(JSON.parse(run.out));
    if (streams[0].inserted !== rows) throw new TypeError(`${streams[0].inserted} of ${rows} rows were mirrored`);
    return run;
  } finally {
    service.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

const peak = (rows: number, mib: number): Figure =>
  atMost(`first mirror of ${rows.toLocaleString("en")} signals, most memory ever held`, mib, MOST_MIB, " MiB", 0);

export const memory: BenchCase = {
  id: "memory",
  title: "Memory of a first mirror without a rate limit, rows of about 500 bytes, 1000 a page",
  run: async () => {
    const first = await mirror(ROWS);
    const figures = [peak(ROWS, first.peakMb)];
    const { size = ROWS } = options;
    if (size === ROWS) return figures;
    const large = await mirror(size);
    const against = `${size.toLocaleString("en")} rows against ${ROWS.toLocaleString("en")}`;
    return [
      ...figures,
      peak(size, large.peakMb),
      atMost(`${against}, memory`, large.peakMb / first.peakMb, MOST_GROWTH, " ×"),
      ratio(`${against}, time a row`, large.ms / size / (first.ms / ROWS)),
    ];
  },
};
