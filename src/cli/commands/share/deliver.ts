// duckmirror deliver: brings the configured destinations to the published snapshot.
import { z } from "zod";
import { type DeliveryReport, deliverJob } from "../../../../jobs/deliver.ts";
import { EXIT } from "../../../core/errors.ts";
import { visible } from "../../../core/text/shown-text.ts";
import { formatBytes, formatCount, formatDuration } from "../../../core/text/units.ts";
import { leftOutText } from "../../../deliver/delivery-results.ts";
import type { LeftOut, Position } from "../../../deliver/destination.ts";
import { audited } from "../../audited.ts";
import { anyArguments, defineCommand, flag } from "../../command.ts";
import { failureOfAll, withError } from "../../problem.ts";
import { renderTable, right } from "../../terminal/table.ts";

const sumOf = ({ delivered }: DeliveryReport, of: "written" | "deleted"): number =>
  (delivered?.tables ?? []).reduce((sum, table) => sum + table[of], 0);

const numberOf = (position: Position | null | undefined): number | null => position?.n ?? null;

/** Contract of `deliver --json`. */
const toJson = (report: DeliveryReport) => {
  const { name, kind, durationMs, delivered } = report;
  return {
    name,
    kind,
    status: delivered === null ? "failed" : "done",
    from: numberOf(delivered?.from),
    to: numberOf(delivered?.to),
    rows_written: sumOf(report, "written"),
    rows_deleted: sumOf(report, "deleted"),
    left_out: delivered?.leftOut ?? [],
    bytes: delivered?.bytes ?? null,
    duration_ms: durationMs,
    tables: delivered?.tables ?? [],
  };
};

const render = (reports: readonly DeliveryReport[], columns: number): string =>
  renderTable(
    ["destination", "kind", "changes", ...["written", "deleted", "size", "time"].map(right)],
    reports.map((report) => {
      const { name, kind, durationMs, delivered } = report;
      const steps =
        delivered === null
          ? (report.error?.code ?? "failed")
          : `${delivered.from === null ? "none" : formatCount(delivered.from.n)} → ${formatCount(delivered.to.n)}`;
      return [
        name,
        kind,
        steps,
        sumOf(report, "written"),
        sumOf(report, "deleted"),
        delivered?.bytes == null ? null : formatBytes(delivered.bytes),
        formatDuration(durationMs),
      ];
    }),
    columns,
  );

/** A warning that names the rows that a destination cannot hold. */
const leftOutLine = (name: string, { table, rows, keys }: LeftOut): string =>
  `${name}: ${leftOutText([{ table, rows }])}, because the destination cannot hold the key: ${keys.join(", ")}${rows > keys.length ? ", …" : ""}`;

/** The error of the whole; null: every destination is up to date. */
const failureOf = (reports: readonly DeliveryReport[]) => failureOfAll(reports, "DESTINATIONS_FAILED");

export const command = defineCommand({
  configure: (cli) => cli.argument("[name...]", "destinations (default: all)"),
  examples: {
    "duckmirror deliver": "bring every destination up to date with the published snapshot",
    "duckmirror deliver crm lake": "these two",
    "duckmirror deliver crm --take-over": "after the mirror was restored from an older copy: replace the tables",
  },
  input: z.object({
    args: anyArguments,
    takeOver: flag("replace what another mirror, or a later state of this one, delivered there"),
  }),
  run: async ({ args: names, takeOver }, context) => {
    const { shared, terminal, signal, clock, scrubber } = context;
    const config = await context.loadConfig();
    const tracer = await context.tracer(config);
    const onStart = (name: string) => {
      if (terminal.isTty.err && !shared.quiet) terminal.err(`delivering to ${name}\n`);
    };
    const reports = await audited(
      config,
      context,
      { action: "deliver", subject: names.join(",") || null },
      () => deliverJob(config, { names, takeOver }, { clock, signal, tracer, onStart }),
      (all) => ({
        subject: all.map(({ name }) => name).join(","),
        rows: all.reduce((sum, report) => sum + sumOf(report, "written"), 0),
        outcome: failureOf(all)?.code ?? "ok",
      }),
    );
    await context.show(
      { destinations: reports.map((report) => withError(toJson(report), report.error, scrubber)) },
      () => render(reports, terminal.columns),
    );
    for (const { name, delivered } of reports) {
      for (const one of delivered?.leftOut ?? []) terminal.err(`${scrubber.scrub(visible(leftOutLine(name, one)))}\n`);
    }
    for (const { error } of reports) if (error !== null) context.printProblem(error);
    return failureOf(reports)?.exitCode ?? EXIT.done;
  },
});
