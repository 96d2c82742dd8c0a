// duckmirror replay: rebuilds the working database from the archive, without a request or the old file.
import { z } from "zod";
import { type ReplayReport, replayJob } from "../../../../jobs/replay.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted, formatDuration } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";

const inputSchema = z.object({ partial: z.boolean().default(false), fromStart: z.boolean().default(false) });

const renderReport = (report: ReplayReport): string => {
  const mirrored = Object.values(report.tables).reduce((sum, rows) => sum + rows, 0);
  const lines = [
    report.baseline === null ? null : `started from the baseline of ${report.baseline}`,
    `${counted(report.runs, "run")} and ${counted(report.responses, "response")} replayed in ${formatDuration(report.duration_ms)}: ${counted(mirrored, "row")} mirrored`,
    report.kept === null
      ? null
      : `the old working database was kept as ${report.kept}; the next replay, or a sync after 30 days, removes it`,
    ...report.missing.map((what) => `missing: ${what}`),
    report.missing.length === 0 ? null : "the next sync walks every list again",
    `published ${report.warehouse}`,
  ];
  return `${lines.filter((line) => line !== null).join("\n")}\n`;
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--partial", "rebuild what the archive holds even if something is missing; the next sync reads it again")
      .option(
        "--from-start",
        "ignore the baseline and read the whole archive, e.g. to fill a column that was added later",
      ),
  examples: {
    "duckmirror replay": "rebuild the working database, e.g. when it is damaged; costs no credit",
    "duckmirror replay --from-start": "from the first archived response on, as far as the archive still has it",
    "duckmirror replay --json": "the same, the result as JSON",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, signal, terminal } = context;
    const config = await context.loadConfig();
    const progress = await context.progress(config);
    try {
      const report = await audited(
        config,
        context,
        { action: "replay" },
        () =>
          replayJob(
            config,
            { partial: input.partial, fromStart: input.fromStart },
            { clock, emit: progress.sink, signal },
          ),
        ({ rows }) => ({ rows }),
      );
      progress.end();
      if (shared.json) await context.printJson(report);
      else await terminal.out(renderReport(report));
      return EXIT.done;
    } catch (error) {
      progress.end();
      throw error;
    }
  },
});
