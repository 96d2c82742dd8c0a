// duckmirror demo: starts a generated service in this process, mirrors it completely, and shows some queries.
import { existsSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { z } from "zod";
import { syncJob } from "../../../../jobs/sync.ts";
import { vocabulary } from "../../../catalog/field-rules.ts";
import { resolveConfig } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { makeFolders } from "../../../core/files/make-folders.ts";
import { writeNewSync } from "../../../core/files/own-files.ts";
import { Secret } from "../../../core/secret.ts";
import { unwritable } from "../../../core/state/shared-file.ts";
import { counted, formatDuration } from "../../../core/text/units.ts";
import { startSandbox } from "../../../sandbox/sandbox.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import { runQuery } from "../../../warehouse/read/query.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { withError } from "../../problem.ts";
import { isNumeric, tableCell } from "../../terminal/query-output.ts";
import { renderSummary } from "../../terminal/summary.ts";
import { renderTable } from "../../terminal/table.ts";

/** File that marks a directory as created by the demo, so it may be replaced. */
const MARKER = ".duckmirror-demo";
/** Fast enough that the demo shows results instead of waiting. */
const REQUESTS_PER_MINUTE = 6000;
const TOUR = ["demo/1-hottest-accounts.sql", "demo/2-moves.sql", "demo/3-hiring-and-funding.sql"];

const inputSchema = z.object({
  accounts: z.coerce.number({ error: "--accounts must be a number" }).int().min(1).max(5000).default(40),
  seed: z.coerce.number({ error: "--seed must be a number" }).int().min(0).default(1),
});

/** An empty directory for the demo. Refuses one with other content. */
const freshDir = async (dir: string): Promise<void> => {
  if (existsSync(join(dir, MARKER))) rmSync(dir, { recursive: true, force: true });
  if (existsSync(join(dir, "state")) || existsSync(snapshotPath(dir))) {
    throw new DuckmirrorError("USAGE", {
      detail: `${dir} holds a mirror that is not the demo's; choose another --data-dir`,
    });
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
  const heads = columns.map(
    (column) => ({ name: column.name, align: isNumeric(column.type) ? "right" : "left" }) as const,
  );
  const table = renderTable(
    heads,
    rows.map((row) => row.map(tableCell)),
    Math.min(terminal.columns, 140),
  );
  await terminal.out(`\n${terminal.outColours.bold(title)}\n${table}\n`);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--accounts <n>", "tracked accounts of the generated organization (default: 40)")
      .option("--seed <n>", "another seed gives other data (default: 1)"),
  examples: {
    "duckmirror demo": "a complete mirror of a generated service, and a tour",
    "duckmirror demo --accounts 200": "a larger one",
  },
  input: inputSchema,
  run: async ({ accounts, seed }, context) => {
    const { shared, clock, env, terminal, cwd, version, signal } = context;
    const dataDir = resolve(cwd, shared.dataDir ?? join(env.DUCKMIRROR_DATA_DIR ?? "data", "demo"));
    const { bold, cyan, dim } = terminal.outColours;
    await freshDir(dataDir);
    const startedAt = clock.now();
    const sandbox = await startSandbox({ seed, accounts, plan: "enterprise", requestsPerMinute: REQUESTS_PER_MINUTE });
    try {
      const config = resolveConfig({
        flags: {
          base_url: sandbox.url,
          token: sandbox.token,
          data_dir: dataDir,
          rate_limit: String(REQUESTS_PER_MINUTE),
          log_level: shared.quiet ? "error" : undefined,
          log_format: shared.logFormat,
        },
        env: {},
        file: null,
        cwd,
        vocabulary: vocabulary(),
      });
      if (!shared.quiet)
        terminal.err(`A service with ${counted(accounts, "tracked account")} runs at ${sandbox.url}\n`);
      const tracer = await context.tracer(config);
      const progress = await context.progress(config);
      const { report, error } = await syncJob(
        config,
        { streams: [], full: false, maxDurationMs: null, allowMassDelete: false },
        {
          clock,
          random: Math.random,
          emit: progress.sink,
          signal,
          version,
          token: new Secret(sandbox.token),
          tracer,
        },
      ).finally(() => progress.end());
      if (shared.json) await context.printJson(withError(report, error, context.scrubber));
      if (error !== null) return context.printProblem(error).exitCode;
      if (shared.json) return EXIT.done;
      await terminal.out(renderSummary(report, terminal));
      for (const name of TOUR) await showQuery(name, dataDir, context);
      const here = relative(cwd, dataDir) || ".";
      const run = context.invocation;
      await terminal.out(
        [
          "",
          `${bold("Where things are")} ${dim(`(made in ${formatDuration(clock.now() - startedAt)}, ${counted(report.credits.spent, "credit")} of the generated service)`)}`,
          `  ${here}/warehouse.duckdb    the mirror: opens read-only in any DuckDB client, at any moment`,
          `  ${here}/state/              working database and archive of every response that was paid for`,
          "",
          bold("What to type next"),
          `  ${cyan(`${run} query --data-dir ${here} "select type, count(*) from signals group by type order by 2 desc"`)}`,
          `  ${cyan(`${run} status --data-dir ${here}`)}`,
          `  ${cyan(`${run} init`)}    then set DUCKMIRROR_TOKEN and run ${cyan("check")} and ${cyan("sync")} against your own organization`,
          "",
        ].join("\n"),
      );
      return EXIT.done;
    } finally {
      await sandbox.close();
    }
  },
});
