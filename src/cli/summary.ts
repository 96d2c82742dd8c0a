// The table at the end of a sync, from its report.
import type { StreamStatus, SyncReport } from "../core/sync-report.ts";
import { counted, formatCount, formatDuration } from "../core/units.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const NUMBERS = [
  "requests",
  "credits",
  "pages",
  "inserted",
  "updated",
  "deleted",
  "unchanged",
  "rejected",
] as const satisfies readonly (keyof SyncReport["streams"][number])[];

const HEADLINES: Readonly<Record<SyncReport["status"], string>> = {
  done: "The mirror is complete.",
  stopped: "Stopped by the credit budget. The mirror is consistent; the next sync goes on from here.",
  partial: "Some streams failed, the others are committed. The next sync fetches only what failed.",
  failed: "The sync failed. What was fetched before is committed.",
  interrupted: "Interrupted. What was fetched is committed; the next sync goes on from here.",
};

const creditLine = ({ credits }: SyncReport): string => {
  const left = credits.remaining === null ? "" : `, ${formatCount(credits.remaining)} left`;
  const limit = credits.limit === null || left === "" ? "" : ` of ${formatCount(credits.limit)}`;
  const reset = credits.resets_at === null ? "" : `, reset ${credits.resets_at.slice(0, 16).replace("T", " ")} UTC`;
  return `${counted(credits.spent, "credit")} spent${left}${limit}${reset}`;
};

/** The report as text for people, without a final line end. */
export const renderSummary = (report: SyncReport, terminal: Pick<Terminal, "columns" | "outColours">): string => {
  const { columns, outColours: colours } = terminal;
  const paintStatus: Readonly<Record<StreamStatus, (text: string) => string>> = {
    done: colours.green,
    skipped: colours.dim,
    stopped: colours.yellow,
    interrupted: colours.yellow,
    failed: colours.red,
  };
  const names = ["stream", "mode", "status"];
  const heads = [...names.map((name) => ({ name })), ...NUMBERS.map((name) => ({ name, align: "right" }) as const)];
  const sum = (name: (typeof NUMBERS)[number]) => report.streams.reduce((total, stream) => total + stream[name], 0);
  const rows = [
    ...report.streams.map((stream) => [
      stream.stream,
      stream.mode,
      stream.status,
      ...NUMBERS.map((name) => formatCount(stream[name])),
    ]),
    ["total", "", "", ...NUMBERS.map((name) => formatCount(sum(name)))],
  ];
  const table = renderTable(heads, rows, columns, (text, column, row) => {
    const stream = report.streams[row];
    if (stream === undefined) return colours.bold(text);
    return column === 2 ? paintStatus[stream.status](text) : text;
  });
  const took = formatDuration(Date.parse(report.finished_at) - Date.parse(report.started_at));
  const errors = report.streams.flatMap(({ stream, error }) => (error ? [`${colours.red(stream)}: ${error}`] : []));
  return [
    table,
    ...errors,
    HEADLINES[report.status],
    `${counted(report.requests, "request")} in ${took} · ${creditLine(report)}`,
    `warehouse: ${report.warehouse}`,
  ].join("\n");
};
