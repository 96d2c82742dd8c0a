// duckmirror demo: starts a generated service in this process, mirrors it, lets it change, mirrors the changes, shows some queries, and on a
// terminal serves the page of the mirror.
import { existsSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { z } from "zod";
import { syncJob } from "../../../../jobs/sync.ts";
import { vocabulary } from "../../../catalog/field-rules.ts";
import { type Config, resolveConfig } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { EXIT, isCode } from "../../../core/errors.ts";
import { makeFolders, writeNewSync } from "../../../core/files/own-files.ts";
import { Secret } from "../../../core/secret.ts";
import { unwritable } from "../../../core/state/shared-file.ts";
import { counted, formatDuration } from "../../../core/text/units.ts";
import { startSandbox } from "../../../sandbox/sandbox.ts";
import type { SyncResult } from "../../../sync/run/run-sync.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import { runQuery } from "../../../warehouse/read/query.ts";
import { isNumeric, tableCell } from "../../../warehouse/user-sql/query-output.ts";
import { type CommandContext, defineCommand, optionOf, usage } from "../../command.ts";
import { withError } from "../../problem.ts";
import { renderSummary } from "../../terminal/summary.ts";
import { renderTable, right } from "../../terminal/table.ts";
import { serveProfiles } from "../share/serve.ts";

/** File that marks a directory as created by the demo, so it may be replaced. */
const MARKER = ".duckmirror-demo";
/** Fast enough that the demo shows results instead of waiting. */
const REQUESTS_PER_MINUTE = 6000;
const TOUR = ["demo/1-hottest-accounts.sql", "demo/2-moves.sql", "demo/3-score-movement.sql"];
/** Changes of the service between the two syncs. */
const CHANGES = 60;

const inputSchema = z.object({
  accounts: optionOf(z.coerce.number({ error: "--accounts must be a number" }).int().min(1).max(5000).default(40), {
    value: "<n>",
    summary: "tracked accounts of the generated organization (default: 40)",
  }),
  seed: optionOf(z.coerce.number({ error: "--seed must be a number" }).int().min(0).default(1), {
    value: "<n>",
    summary: "another seed gives other data (default: 1)",
  }),
  serve: optionOf(z.boolean().default(true), {
    flags: "--no-serve",
    summary: "end after the tour; without a terminal, with --json or --quiet the demo always does",
  }),
});
type Input = z.output<typeof inputSchema>;

/** An empty directory for the demo. Refuses one with other content. */
const freshDir = async (dir: string): Promise<void> => {
  if (existsSync(join(dir, MARKER))) rmSync(dir, { recursive: true, force: true });
  if (existsSync(join(dir, "state")) || existsSync(snapshotPath(dir))) {
    throw usage(`${dir} holds a mirror that is not the demo's; choose another --data-dir`);
  }
  try {
    makeFolders(dir, 0o700);
    writeNewSync(join(dir, MARKER), "Made by `duckmirror demo`; the next demo makes it anew.\n");
  } catch (error) {
    throw unwritable(dir, error);
  }
};

/** A query of the tour: the first comment line is its title; prints the result as a table. */
const showQuery = async (name: string, dataDir: string, { terminal }: CommandContext): Promise<void> => {
  const sql = sqlText(name);
  const title = /^-- (.+)$/m.exec(sql)?.[1] ?? name;
  const { columns, rows } = await runQuery({ snapshot: snapshotPath(dataDir), sql });
  const heads = columns.map(({ name, type }) => (isNumeric(type) ? right(name) : name));
  const table = renderTable(
    heads,
    rows.map((row) => row.map(tableCell)),
    Math.min(terminal.columns, 140),
  );
  await terminal.out(`\n${terminal.outColours.bold(title)}\n${table}\n`);
};

/** Mirrors the sandbox once. */
const syncOnce = async (config: Config, token: string, context: CommandContext): Promise<SyncResult> => {
  const { clock, version, signal } = context;
  const tracer = await context.tracer(config);
  return context.withProgress(config, (emit) =>
    syncJob(config, {}, { clock, random: Math.random, emit, signal, version, token: new Secret(token), tracer }),
  );
};

/** Mirrors a sandbox, before and after it changed. The result of a sync that failed is the last. */
const syncTwice = async ({ accounts, seed }: Input, dataDir: string, context: CommandContext) => {
  const { shared, terminal, cwd, env } = context;
  const sandbox = await startSandbox({ seed, accounts, plan: "enterprise", requestsPerMinute: REQUESTS_PER_MINUTE });
  try {
    const flags = {
      base_url: sandbox.url,
      token: sandbox.token,
      data_dir: dataDir,
      rate_limit: String(REQUESTS_PER_MINUTE),
      log_level: shared.quiet ? "error" : undefined,
      log_format: shared.logFormat,
      listen: env.DUCKMIRROR_LISTEN,
    };
    const config = resolveConfig({ flags, env: {}, file: null, cwd, vocabulary: vocabulary() });
    const say = (text: string) => void (shared.quiet || terminal.err(`${text}\n`));
    say(`A service with ${counted(accounts, "tracked account")} runs at ${sandbox.url}`);
    const first = await syncOnce(config, sandbox.token, context);
    if (first.error !== null) return { config, results: [first], last: first };
    if (!shared.json) await terminal.out(renderSummary(first.report, terminal));
    await sandbox.evolve(CHANGES);
    say("\nThe service changed: new signals and jobs, moved scores, people who left. A second sync reads only that:");
    const last = await syncOnce(config, sandbox.token, context);
    if (last.error === null && !shared.json) await terminal.out(renderSummary(last.report, terminal));
    return { config, results: [first, last], last };
  } finally {
    await sandbox.close();
  }
};

const credits = (results: readonly SyncResult[]): string =>
  results.map(({ report }) => report.credits.spent).join(" and ");

const showNext = async (dataDir: string, made: string, { terminal, cwd, invocation }: CommandContext) => {
  const { bold, cyan, dim } = terminal.outColours;
  const here = relative(cwd, dataDir) || ".";
  const steps = [
    `changes --data-dir ${here} --tables accounts`,
    `query --data-dir ${here} --list`,
    `status --data-dir ${here}`,
    `serve --data-dir ${here}`,
  ];
  await terminal.out(
    [
      "",
      `${bold("Where things are")} ${dim(made)}`,
      `  ${here}/warehouse.duckdb    the mirror: opens read-only in any DuckDB client, at any moment`,
      `  ${here}/state/              working database and archive of every response that was paid for`,
      "",
      bold("What to type next"),
      ...steps.map((step) => `  ${cyan(`${invocation} ${step}`)}`),
      `  ${cyan(`${invocation} init`)}    mirror your own organization: asks for its address and token`,
      "",
    ].join("\n"),
  );
};

/** Serves the page until Ctrl-C, on the usual port or a free one. */
const servePage = async (config: Config, context: CommandContext): Promise<number> => {
  await context.terminal.out(`\n${context.terminal.outColours.bold("The page of this mirror")}\n`);
  try {
    return await serveProfiles([config], config.listen, context);
  } catch (error) {
    if (!isCode(error, "LISTEN_FAILED")) throw error;
    return serveProfiles([config], { ...config.listen, port: 0 }, context);
  }
};

export const command = defineCommand({
  examples: {
    "duckmirror demo": "a mirror of a generated service, its changes, a tour, and the page until Ctrl-C",
    "duckmirror demo --accounts 200 --no-serve": "a larger one, without the page",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, env, terminal, cwd } = context;
    const dataDir = resolve(cwd, shared.dataDir ?? join(env.DUCKMIRROR_DATA_DIR ?? "data", "demo"));
    await freshDir(dataDir);
    const startedAt = clock.now();
    const { config, results, last } = await syncTwice(input, dataDir, context);
    if (shared.json) await context.printJson(withError(last.report, last.error, context.scrubber));
    if (last.error !== null) return context.printProblem(last.error);
    if (shared.json) return EXIT.done;
    for (const name of TOUR) await showQuery(name, dataDir, context);
    const took = formatDuration(clock.now() - startedAt);
    await showNext(dataDir, `(made in ${took}; the two syncs cost ${credits(results)} credits)`, context);
    const isWatched = terminal.isTty.out && terminal.isTty.err && !shared.quiet;
    return input.serve && isWatched ? servePage(config, context) : EXIT.done;
  },
});
