// duckmirror replay: rebuilds the working database from the archive, without a request or the old file.
import { z } from "zod";
import { type ReplayReport, replayJob } from "../../../../jobs/replay.ts";
import { counted, formatDuration } from "../../../core/text/units.ts";
import { audited } from "../../audited.ts";
import { defineCommand, flag } from "../../command.ts";

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
  return lines.filter((line) => line !== null).join("\n");
};

export const command = defineCommand({
  examples: {
    "duckmirror replay": "rebuild the working database, e.g. when it is damaged; costs no credit",
    "duckmirror replay --from-start": "from the first archived response on, as far as the archive still has it",
    "duckmirror replay --json": "the same, the result as JSON",
  },
  input: z.object({
    partial: flag("rebuild what the archive holds even if something is missing; the next sync reads it again"),
    fromStart: flag("ignore the baseline and read the whole archive, e.g. to fill a column that was added later"),
  }),
  run: async (input, context) => {
    const { clock, signal } = context;
    const config = await context.loadConfig();
    const report = await context.withProgress(config, (emit) =>
      audited(
        config,
        context,
        { action: "replay" },
        () => replayJob(config, input, { clock, emit, signal }),
        ({ rows }) => ({ rows }),
      ),
    );
    return context.show(report, () => renderReport(report));
  },
});
