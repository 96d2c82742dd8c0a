// duckmirror sync: mirrors what is due, within rate and credits. The contract defines exit code and --json.
import { z } from "zod";
import type { SyncRequest } from "../../../../jobs/sync.ts";
import { withParents } from "../../../catalog/streams.ts";
import { EXIT } from "../../../core/errors.ts";
import { orBroken } from "../../../core/report/sync-report.ts";
import { anyArguments, defineCommand, durationOf, flag, option } from "../../command.ts";
import { addStreams, partOptions, streamsOf } from "../../options/streams-argument.ts";
import { withError } from "../../problem.ts";

export const command = defineCommand({
  configure: (cli) => addStreams(cli, "mirror"),
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
  input: z.object({
    args: anyArguments,
    ...partOptions,
    full: flag("walk every list completely, to find deletes and changes without a date"),
    maxCredits: option("<n>", "spend at most this many credits (exit code 4 when reached)"),
    maxDuration: option("<d>", "stop cleanly after this time, e.g. 15m (exit code 4; unset: sync_timeout)"),
    withParents: flag("also read the accounts, which company lists and insights need first"),
    report: option("<kind[=place]>", "also report to dagster, airflow, github or openlineage, or to a file or address"),
    erase: flag("move rows outside the setting `scope` to history"),
    allowMassDelete: flag("delete even if a list is empty now or lost more than max_delete_share of its rows"),
  }),
  run: async (input, context) => {
    // `--help` loads none of it.
    const [{ checkedExtent }, { syncJob }, { recordedJob }, { renderSummary }] = await Promise.all([
      import("../../../../jobs/requested-extent.ts"),
      import("../../../../jobs/sync.ts"),
      import("../../recorded-job.ts"),
      import("../../terminal/summary.ts"),
    ]);
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const streams = input.withParents ? withParents(streamsOf(input.args)) : streamsOf(input.args);
    const request: SyncRequest = {
      streams,
      reset: input.reset,
      since: input.since,
      full: input.full,
      maxDurationMs: durationOf("--max-duration", input.maxDuration, "90s, 15m or 2h", 0) ?? config.syncTimeoutMs,
      allowMassDelete: input.allowMassDelete,
      eraseOutside: input.erase,
    };
    if (input.reset.length > 0) checkedExtent(config, request);
    const { reporting } = await import("../../reports/send-report.ts");
    const { result, report: sendReport } = await reporting(input.report, config, context, () =>
      orBroken(recordedJob(config, context, { action: "sync", streams }, (engine) => syncJob(config, request, engine))),
    );
    const { report, error } = result;
    await context.show(withError(report, error, context.scrubber), () =>
      renderSummary(report, context.terminal, { named: streams.length > 0 }),
    );
    await sendReport();
    return error === null ? EXIT.done : context.printProblem(error);
  },
});
