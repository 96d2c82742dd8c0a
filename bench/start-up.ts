// Case start-up: how long commands take from the start of the process to its exit, against a service on this machine, as
// multiples of Node running nothing; and how long small syncs take where the service allows 10, 60 or 300 requests a minute
// and answers in 50 ms.
import { z } from "zod";
import { atMost, type BenchCase, type Figure, median } from "./case.ts";
import { type BenchMirror, startBenchMirror } from "./mirror-of.ts";
import { type ProgramRun, runProgram, runScript } from "./program.ts";

const ROUNDS = 10;
const ACCOUNTS = 300;
const LATENCY_MS = 50;
const SMALL_ACCOUNTS = 40;
/** A minute's requests are used up by the first mirror. */
const MINUTE_MS = 61_000;

const library = new URL("../src/library/mirror.js", import.meta.url).href;

/** Processor time as a multiple of Node's own; `most`: what the ratio may be, as it was measured elsewhere, or null. */
const COMMANDS: readonly { readonly what: string; readonly argv: readonly string[]; readonly most: number | null }[] = [
  { what: "`--help`", argv: ["--help"], most: 1.3 },
  { what: "`sync --help`", argv: ["sync", "--help"], most: 1.6 },
  { what: "`query`", argv: ["query", "SELECT 1"], most: null },
  { what: "`status`", argv: ["status"], most: null },
  { what: "`sync` that finds nothing new", argv: ["sync", "--json"], most: null },
];

const shown = (ms: readonly number[]) =>
  `${median(ms).toFixed(0)} ms (${Math.min(...ms).toFixed(0)} to ${Math.max(...ms).toFixed(0)})`;
const plain = (measure: string, value: string): Figure => ({ measure, value, aim: "", reached: null });

const figuresOf = (what: string, runs: readonly ProgramRun[], nodeMs: number, most: number | null) => {
  const cpu = runs.map(({ cpuMs }) => cpuMs);
  const ratio = median(cpu) / nodeMs;
  const times = `${what}: processor time, of Node running nothing`;
  return [
    plain(`${what}: by the clock · processor time`, `${shown(runs.map(({ ms }) => ms))} · ${shown(cpu)}`),
    most === null ? plain(times, `${ratio.toFixed(2)} ×`) : atMost(times, ratio, most, " ×"),
  ];
};

const envOf = ({ sandbox, dataDir }: BenchMirror, rate: number) => ({
  DUCKMIRROR_BASE_URL: sandbox.url,
  DUCKMIRROR_TOKEN: sandbox.token,
  DUCKMIRROR_DATA_DIR: dataDir,
  DUCKMIRROR_RATE_LIMIT: String(rate),
  DUCKMIRROR_STREAMS: "accounts,contacts,signals",
});

const commands = async (): Promise<readonly Figure[]> => {
  const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 12 });
  try {
    await mirror.sync();
    const env = envOf(mirror, 1_000_000);
    const node: ProgramRun[] = [];
    const imports: ProgramRun[] = [];
    const runs = COMMANDS.map((): ProgramRun[] => []);
    for (let round = 0; round <= ROUNDS; round++) {
      const nothing = await runScript(["-e", "0"], {}, mirror.dataDir);
      const imported = await runScript(
        ["--input-type=module", "-e", `await import(${JSON.stringify(library)})`],
        {},
        mirror.dataDir,
      );
      const commanded: ProgramRun[] = [];
      for (const { argv } of COMMANDS) commanded.push(await runProgram(argv, env, mirror.dataDir));
      // The first round fills the machine's file cache.
      if (round === 0) continue;
      node.push(nothing);
      imports.push(imported);
      for (const [index, run] of commanded.entries()) runs[index]?.push(run);
    }
    const nodeMs = median(node.map(({ cpuMs }) => cpuMs));
    return [
      plain(
        "Node itself: by the clock · processor time",
        `${shown(node.map(({ ms }) => ms))} · ${nodeMs.toFixed(0)} ms`,
      ),
      ...COMMANDS.flatMap(({ what, most }, index) => figuresOf(what, runs[index] ?? [], nodeMs, most)),
      ...figuresOf('`import "duckmirror"`', imports, nodeMs, 2.8),
    ];
  } finally {
    await mirror.close();
  }
};

const report = z.object({ requests: z.number(), status: z.literal("done") });

/** A first mirror, a minute later a sync that finds nothing new, and one that finds 1% of the rows changed. */
const smallSyncs = async (perMinute: number): Promise<Figure> => {
  const plan = { requestsPerMinute: perMinute, latencyMs: LATENCY_MS, seed: 12 };
  const mirror = await startBenchMirror({ accounts: SMALL_ACCOUNTS, ...plan });
  try {
    const run = async () => {
      const { out, ms } = await runProgram(["sync", "--json"], envOf(mirror, perMinute), mirror.dataDir);
      return `${(ms / 1000).toFixed(2)} s for ${report.parse(JSON.parse(out)).requests} requests`;
    };
    const first = await run();
    await new Promise((resolve) => setTimeout(resolve, MINUTE_MS));
    const unchanged = await run();
    const [rows = 0] = await mirror.numbers("SELECT count(*) FROM signals");
    await mirror.sandbox.evolve(Math.ceil(rows / 100));
    const changed = await run();
    return plain(
      `${perMinute} a minute: first mirror of ${SMALL_ACCOUNTS} accounts · unchanged · 1% changed`,
      [first, unchanged, changed].join(" · "),
    );
  } finally {
    await mirror.close();
  }
};

export const startUp: BenchCase = {
  id: "start-up",
  title: `Start-up, medians of ${ROUNDS} rounds, and small syncs; mirrors of ${ACCOUNTS} and ${SMALL_ACCOUNTS} accounts, answers in ${LATENCY_MS} ms`,
  run: async () => {
    const figures = [...(await commands())];
    for (const perMinute of [10, 60, 300]) figures.push(await smallSyncs(perMinute));
    return figures;
  },
};
