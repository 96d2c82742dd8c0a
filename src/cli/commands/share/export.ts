// duckmirror export: writes the snapshot as Parquet, CSV or NDJSON; only files that changed since the last export.
import { resolve } from "node:path";
import { z } from "zod";
import { exportJob } from "../../../../jobs/export.ts";
import { counted, formatBytes, formatCount } from "../../../core/text/units.ts";
import { momentBefore } from "../../../core/time.ts";
import type { ExportReport } from "../../../warehouse/export/export.ts";
import { EXPORT_FORMATS } from "../../../warehouse/export/tables.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, choice, defineCommand, flag, listOf, option, optionOf, usage } from "../../command.ts";
import { renderTable, right } from "../../terminal/table.ts";

const inputSchema = z.object({
  dir: optionOf(z.string().min(1).optional(), {
    value: "<dir>",
    summary: "folder to export to (default: export in the data directory)",
  }),
  tables: option("<list>", "tables, e.g. signals,history.signals,marts.account_360, or main, history, marts, sync"),
  since: option("<time>", "only rows that changed since, e.g. 2025-01-31 or 24h; needs --dir"),
  format: choice("<format>", "default: parquet", EXPORT_FORMATS),
  guardFormulas: flag("CSV: put a quote before cells a spreadsheet would take for a formula"),
});
type Input = z.output<typeof inputSchema>;

/** Contract of `export --json`. */
const toJson = (report: ExportReport) => ({
  dir: report.dir,
  format: report.format,
  run_id: report.run,
  files: { written: report.written, kept: report.kept, removed: report.removed },
  rows: report.rows,
  bytes: report.bytes,
  bytes_written: report.bytesWritten,
  tables: report.tables.map(({ bytesWritten, ...table }) => ({ ...table, bytes_written: bytesWritten })),
});

const render = (report: ExportReport, columns: number): string => {
  const table = renderTable(
    ["table", ...["files", "written", "rows", "size"].map(right)],
    report.tables.map(({ table: label, files, written, rows, bytes }) => [
      label,
      files,
      written,
      rows,
      formatBytes(bytes),
    ]),
    columns,
  );
  const removed = report.removed === 0 ? "" : `, ${counted(report.removed, "file")} removed`;
  const written = `${counted(report.written, "file")} written (${formatBytes(report.bytesWritten)})`;
  return `${table}\n${report.dir}: ${written}, ${formatCount(report.kept)} unchanged${removed}`;
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { signal, clock, cwd } = context;
  const { format = "parquet", guardFormulas } = input;
  if (guardFormulas && format !== "csv") throw usage("--guard-formulas needs --format csv");
  if (input.since !== undefined && input.dir === undefined)
    throw usage("--since needs a folder of its own: give one with --dir");
  const config = await context.loadConfig();
  const request = {
    dir: input.dir === undefined ? null : resolve(cwd, input.dir),
    format,
    tables: listOf(input.tables),
    since: input.since === undefined ? null : momentBefore("--since", input.since, clock.now()),
    guardFormulas,
  };
  const tracer = await context.tracer(config);
  const report = await audited(
    config,
    context,
    { action: "export", subject: format },
    () => exportJob(config, request, { signal, tracer }),
    ({ format, tables, rows, bytesWritten }) => ({
      subject: `${format}: ${tables.map(({ table }) => table).join(",")}`,
      rows,
      bytes: bytesWritten,
    }),
  );
  return context.show(toJson(report), () => render(report, context.terminal.columns));
};

export const command = defineCommand({
  examples: {
    "duckmirror export": "every table as Parquet; only files whose rows changed are written",
    "duckmirror export --tables main,marts --dir /mnt/lake/accounts": "tables and views, somewhere else",
    "duckmirror export --format csv --guard-formulas --tables contacts --dir ./sheets": "for a spreadsheet",
    "duckmirror export --since 24h --format ndjson --dir ./changes": "what changed in the last day",
  },
  input: inputSchema,
  run,
});
