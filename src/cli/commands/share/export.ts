// duckmirror export: writes the snapshot as Parquet, CSV or NDJSON; only files that changed since the last export.
import { resolve } from "node:path";
import { z } from "zod";
import { exportJob } from "../../../../jobs/export.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { counted, formatBytes, formatCount } from "../../../core/text/units.ts";
import type { ExportReport } from "../../../warehouse/export/export.ts";
import { EXPORT_FORMATS } from "../../../warehouse/export/tables.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { sinceOf } from "../../options/streams-argument.ts";
import { renderTable, right } from "../../terminal/table.ts";

const inputSchema = z.object({
  dir: z.string().min(1).optional(),
  tables: z.string().optional(),
  since: z.string().optional(),
  format: z.enum(EXPORT_FORMATS).default("parquet"),
  guardFormulas: z.boolean().default(false),
});
type Input = z.output<typeof inputSchema>;

const checked = (input: Input): Input => {
  if (input.guardFormulas && input.format !== "csv") {
    throw new DuckmirrorError("USAGE", { detail: "--guard-formulas needs --format csv" });
  }
  if (input.since !== undefined && input.dir === undefined) {
    throw new DuckmirrorError("USAGE", { detail: "--since needs a folder of its own: give one with --dir" });
  }
  return input;
};

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
    [{ name: "table" }, right("files"), right("written"), right("rows"), right("size")],
    report.tables.map(({ table: label, files, written, rows, bytes }) => [
      label,
      formatCount(files),
      formatCount(written),
      formatCount(rows),
      formatBytes(bytes),
    ]),
    columns,
  );
  const removed = report.removed === 0 ? "" : `, ${counted(report.removed, "file")} removed`;
  const written = `${counted(report.written, "file")} written (${formatBytes(report.bytesWritten)})`;
  return `${table}\n${report.dir}: ${written}, ${formatCount(report.kept)} unchanged${removed}\n`;
};

const run = async (typed: Input, context: CommandContext): Promise<number> => {
  const input = checked(typed);
  const { shared, terminal, signal, clock, cwd } = context;
  const config = await context.loadConfig();
  const request = {
    dir: input.dir === undefined ? null : resolve(cwd, input.dir),
    format: input.format,
    tables: (input.tables ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()])),
    since: input.since === undefined ? null : sinceOf(input.since, clock.now()),
    guardFormulas: input.guardFormulas,
  };
  const tracer = await context.tracer(config);
  const report = await audited(
    config,
    context,
    { action: "export", subject: request.format },
    () => exportJob(config, request, { signal, tracer }),
    ({ format, tables, rows, bytesWritten }) => ({
      subject: `${format}: ${tables.map(({ table }) => table).join(",")}`,
      rows,
      bytes: bytesWritten,
    }),
  );
  if (shared.json) await context.printJson(toJson(report));
  else await terminal.out(render(report, terminal.columns));
  return EXIT.done;
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--dir <dir>", "folder to export to (default: export in the data directory)")
      .option(
        "--tables <list>",
        "tables, e.g. signals,history.signals,marts.account_360, or main, history, marts, sync",
      )
      .option("--since <time>", "only rows that changed since, e.g. 2025-01-31 or 24h; needs --dir")
      .addOption(cli.createOption("--format <format>", "default: parquet").choices([...EXPORT_FORMATS]))
      .option("--guard-formulas", "CSV: put a quote before cells a spreadsheet would take for a formula"),
  examples: {
    "duckmirror export": "every table as Parquet; only files whose rows changed are written",
    "duckmirror export --tables main,marts --dir /mnt/lake/accounts": "tables and views, somewhere else",
    "duckmirror export --format csv --guard-formulas --tables contacts --dir ./sheets": "for a spreadsheet",
    "duckmirror export --since 24h --format ndjson --dir ./changes": "what changed in the last day",
  },
  input: inputSchema,
  run,
});
