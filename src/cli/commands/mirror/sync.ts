// duckmirror sync: mirrors what is due, within rate and credits. The contract defines exit code and --json.
import { z } from "zod";
import type { SyncRequest } from "../../../../jobs/sync.ts";
import { withParents } from "../../../catalog/streams.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { orBroken } from "../../../core/report/sync-report.ts";
import { parseDuration } from "../../../core/text/units.ts";
import { defineCommand } from "../../command.ts";
import { addParts, addStreams, streamsOf } from "../../options/streams-argument.ts";
import { withError } from "../../problem.ts";

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  full: z.boolean().default(false),
  maxCredits: z.string().optional(),
  maxDuration: z.string().optional(),
  allowMassDelete: z.boolean().default(false),
  erase: z.boolean().default(false),
  reset: z.array(z.string()).default([]),
  since: z.string().optional(),
  withParents: z.boolean().default(false),
  report: z.string().optional(),
});

const durationOf = (text: string | undefined): number | null => {
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms === null)
    throw new DuckmirrorError("USAGE", { detail: `--max-duration: "${text}" is not a duration like 90s, 15m or 2h` });
  return ms;
};

export const command = defineCommand({
  configure: (cli) =>
    addParts(addStreams(cli, "mirror"))
      .option("--full", "walk every list completely, to find deletes and changes without a date")
      .option("--max-credits <n>", "spend at most this many credits (exit code 4 when reached)")
      .option("--max-duration <d>", "stop cleanly after this time, e.g. 15m (exit code 4; unset: sync_timeout)")
      .option("--with-parents", "also read the accounts, which company lists and insights need first")
      .option(
        "--report <kind[=place]>",
        "also report to dagster, airflow, github or openlineage, or to a file or address",
      )
      .option("--erase", "move rows outside the setting `scope` to history")
      .option(
        "--allow-mass-delete",
        "delete even if a list is empty now or lost more than max_delete_share of its rows",
      ),
  examples: {
    "duckmirror sync": "everything that is due",
    "duckmirror sync accounts signals": "two streams",
    "duckmirror sync --max-credits 50": "the most valuable 50 credits' worth",
    "duckmirror sync news_articles --with-parents": "a first mirror of news: the accounts, then their companies' news",
    "duckmirror sync --reset signals": "read all signals anew; rows are only deleted if the list proves it",
    "duckmirror sync signals --since 2026-11-01": "signals since that day, without the rest of the list",
    "duckmirror sync --erase": "sync, and keep only what the setting `scope` asks for",
    "duckmirror sync --report openlineage=lineage.ndjson": "each table as a dataset, with its columns' lineage",
    "duckmirror sync --full --json": "compare every list completely; the report as JSON",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, terminal } = context;
    // `--help` loads none of it.
    const [{ callersExtent }, { syncJob }, { recordedJob }, { renderSummary }] = await Promise.all([
      import("../../../../jobs/asked-extent.ts"),
      import("../../../../jobs/sync.ts"),
      import("../../recorded-job.ts"),
      import("../../terminal/summary.ts"),
    ]);
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const request: SyncRequest = {
      streams: input.withParents ? withParents(streamsOf(input.args)) : streamsOf(input.args),
      reset: input.reset,
      since: input.since,
      full: input.full,
      maxDurationMs: durationOf(input.maxDuration) ?? config.syncTimeoutMs,
      allowMassDelete: input.allowMassDelete,
      eraseOutside: input.erase,
    };
    const { streams } = request;
    if (input.reset.length > 0) callersExtent(config, request);
    const { reporting } = await import("../../reports/send-report.ts");
    const { result, report: sendReport } = await reporting(input.report, config, context, () =>
      orBroken(recordedJob(config, context, { action: "sync", streams }, (engine) => syncJob(config, request, engine))),
    );
    const { report, error } = result;
    if (shared.json) await context.printJson(withError(report, error, context.scrubber));
    else await terminal.out(renderSummary(report, terminal, { named: streams.length > 0 }));
    await sendReport();
    if (error === null) return EXIT.done;
    return context.printProblem(error).exitCode;
  },
});
