// npm run bench: runs the cases and writes their figures to docs/BENCHMARKS.md and, as JSON, to bench-results.json.
// Its options: options.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { alongMonth } from "./along-month.ts";
import { type BenchCase, type Figure, figureTable } from "./case.ts";
import { credits } from "./credits.ts";
import { destinations } from "./destinations.ts";
import { exports } from "./export.ts";
import { fence } from "./fence.ts";
import { fleet } from "./fleet.ts";
import { localApi } from "./local-api.ts";
import { memory } from "./memory.ts";
import { options } from "./options.ts";
import { pagePath } from "./page-path.ts";
import { peers } from "./peers.ts";
import { planMonth } from "./plan-month.ts";
import { publish } from "./publish.ts";
import { rate } from "./rate.ts";
import { accepted, baselineSchema, regressions } from "./regression.ts";
import { replay } from "./replay.ts";
import { sharedLimiter } from "./shared-limiter.ts";
import { smallMachine } from "./small-machine.ts";
import { startUp } from "./start-up.ts";
import { statusPage } from "./status-page.ts";
import { throughput } from "./throughput.ts";
import { upsert } from "./upsert.ts";
import { years } from "./years.ts";

const CASES: readonly BenchCase[] = [
  credits,
  planMonth,
  alongMonth,
  rate,
  sharedLimiter,
  throughput,
  upsert,
  memory,
  smallMachine,
  startUp,
  fence,
  replay,
  publish,
  years,
  exports,
  destinations,
  fleet,
  localApi,
  statusPage,
  pagePath,
  peers,
];

/** Package root: two folders up in the build. */
const root = new URL("../../", import.meta.url);
const only = options.only?.split(",");
const unknown = (only ?? []).filter((id) => CASES.every((bench) => bench.id !== id));
if (unknown.length > 0) {
  process.stderr.write(`no such case: ${unknown.join(", ")}. Cases: ${CASES.map(({ id }) => id).join(", ")}\n`);
  process.exit(2);
}

const results: { readonly id: string; readonly title: string; readonly figures: readonly Figure[] }[] = [];
for (const bench of CASES.filter(({ id, onlyNamed = false }) =>
  only === undefined ? !onlyNamed : only.includes(id),
)) {
  process.stderr.write(`${bench.id} …\n`);
  const figures = await bench.run();
  results.push({ id: bench.id, title: bench.title, figures });
  process.stdout.write(`${bench.title}\n${figureTable(figures).join("\n")}\n\n`);
}

/** Replaces what stands between the markers of each case that was run. */
const withFigures = (text: string): string =>
  results.reduce((page, { id, title, figures }) => {
    const begin = `<!-- bench:${id} -->`;
    const end = `<!-- /bench:${id} -->`;
    const block = `${begin}\n**${title}**\n\n${figureTable(figures).join("\n")}\n${end}`;
    const at = page.indexOf(begin);
    return at === -1 ? page : page.slice(0, at) + block + page.slice(page.indexOf(end) + end.length);
  }, text);

for (const name of ["docs/BENCHMARKS.md", "docs/PEERS.md"]) {
  const file = fileURLToPath(new URL(name, root));
  writeFileSync(file, withFigures(readFileSync(file, "utf8")));
}
const machine = { node: process.version, cores: cpus().length };
writeFileSync(fileURLToPath(new URL("bench-results.json", root)), `${JSON.stringify({ machine, results }, null, 2)}\n`);
const baselineFile = fileURLToPath(new URL("bench/baseline.json", root));
const baseline = baselineSchema.parse(JSON.parse(readFileSync(baselineFile, "utf8")));
const worse = regressions(baseline, results);
for (const sentence of worse) process.stderr.write(`worse than accepted: ${sentence}\n`);
if (options.accept) {
  writeFileSync(baselineFile, `${JSON.stringify(accepted(baseline, results), null, 2)}\n`);
}
process.exitCode =
  worse.length === 0 && results.every(({ figures }) => figures.every(({ reached }) => reached !== false)) ? 0 : 1;
