// Lighthouse on the page, over a mirror of a sandbox: four pages, as a phone and as a desktop. Prints the four scores, the shift of the
// layout and the time that scripts block; fails below the targets of docs/decisions/the-page.md. Lighthouse is no dependency: npx fetches it.
// Run: npm run lighthouse
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { systemClock } from "../src/core/clock.ts";
import { startServer } from "../src/server/app.ts";
import { startBenchMirror } from "./mirror-of.ts";

/** The last version for Node 20. */
const LIGHTHOUSE = "lighthouse@12.8.2";
const LEAST_SCORE = 95;
const MOST_SHIFT = 0.02;
const MOST_BLOCKED_MS = 100;

const reportSchema = z.object({
  categories: z.record(z.string(), z.object({ score: z.number().nullable() })),
  audits: z.record(
    z.string(),
    z.object({ title: z.string(), score: z.number().nullable(), numericValue: z.number().optional() }),
  ),
});

const measure = async (url: string, folder: string, more: readonly string[]) => {
  const file = join(folder, "report.json");
  const flags =
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking";
  const args = [url, "--quiet", "--output=json", `--output-path=${file}`, `--chrome-flags=${flags}`, ...more];
  const env = { ...process.env, CHROME_PATH: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium" };
  await promisify(execFile)("npx", ["--yes", LIGHTHOUSE, ...args], { env, maxBuffer: 64 * 2 ** 20 });
  const { categories, audits } = reportSchema.parse(JSON.parse(await readFile(file, "utf8")));
  return {
    scores: Object.fromEntries(
      Object.entries(categories).map(([name, { score }]) => [name, Math.round(100 * (score ?? 0))]),
    ),
    shift: audits["cumulative-layout-shift"]?.numericValue ?? Number.NaN,
    blockedMs: audits["total-blocking-time"]?.numericValue ?? Number.NaN,
    paintMs: audits["first-contentful-paint"]?.numericValue ?? Number.NaN,
    failed: Object.values(audits).flatMap(({ title, score }) => (score === 0 ? [title] : [])),
  };
};

const folder = await mkdtemp(join(tmpdir(), "duckmirror-lighthouse-"));
const mirror = await startBenchMirror({ accounts: 40 });
await mirror.sync();
const server = await startServer(
  {
    profiles: [{ name: "default", snapshot: join(mirror.dataDir, "warehouse.duckdb"), ratePerMinute: 300 }],
    key: null,
    clock: systemClock,
    version: "0.0.0",
    pageFolder: pathToFileURL(join(import.meta.dirname, "../dist/src/server/page/")),
    onFault: (error) => {
      throw error;
    },
  },
  { host: "127.0.0.1", port: 0 },
);
const [account] = await mirror.numbers("SELECT min(id)::BIGINT FROM accounts");
let misses = 0;
try {
  for (const path of ["/", "/tables/contacts", `/accounts/${account}`, "/explorer"]) {
    for (const [name, more] of [
      ["mobile", []],
      ["desktop", ["--preset=desktop"]],
    ] as const) {
      const { scores, shift, blockedMs, paintMs, failed } = await measure(`${server.url}${path}`, folder, more);
      const isWell =
        Object.values(scores).every((score) => score >= LEAST_SCORE) &&
        shift <= MOST_SHIFT &&
        blockedMs <= MOST_BLOCKED_MS;
      if (!isWell) misses += 1;
      const figures = `shift ${shift.toFixed(3)}, blocked ${blockedMs.toFixed(0)} ms, first paint ${paintMs.toFixed(0)} ms`;
      process.stdout.write(`${isWell ? "ok  " : "MISS"} ${path} ${name}: ${JSON.stringify(scores)} ${figures}\n`);
      if (!isWell) process.stdout.write(`     ${failed.join("; ")}\n`);
    }
  }
} finally {
  await server.close();
  await mirror.close();
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = misses === 0 ? 0 : 1;
