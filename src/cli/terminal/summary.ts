// Renders the table that `sync` prints at its end, from the report: one row per stream.
import {
  FIGURES,
  type StreamReport,
  type StreamStatus,
  type SyncReport,
  sumOfFigures,
} from "../../core/report/sync-report.ts";
import { counted, formatCount, formatDuration, unconfirmedText } from "../../core/text/units.ts";
import { minuteText, timeMs } from "../../core/time.ts";
import { renderTable, type TableColumn, tableWidth } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Columns shown even if all values are zero; other columns of zeros only widen the table. */
const ALWAYS: readonly string[] = ["requests", "credits", "inserted"];

/** Columns that a narrow terminal omits, in this order, because a cut stream name would be worse. */
const GIVEN_UP = ["mode", "pages", "unchanged", "rejected", "credits"];

interface SummaryColumn extends TableColumn {
  readonly of: (stream: StreamReport) => string;
  readonly total: string;
}

const HEADLINES: Readonly<Record<Exclude<SyncReport["status"], "done">, string>> = {
  stopped: "Stopped before its end. The mirror is consistent; the next sync continues from here.",
  partial: "Some streams failed, the others are committed. The next sync fetches only what failed.",
  failed: "The sync failed. What was fetched before is committed.",
  interrupted: "Interrupted. What was fetched is committed; the next sync continues from here.",
};

/** Headlines of runs that fetched nothing. */
const EMPTY_HEADLINES: typeof HEADLINES = {
  stopped: "Stopped before anything was fetched. The mirror is as it was.",
  partial: "Nothing could be fetched. The mirror is as it was; the next sync tries again.",
  failed: "The sync failed before anything was fetched. The mirror is as it was.",
  interrupted: "Interrupted before anything was fetched. The mirror is as it was.",
};

/** Headline of a run whose streams are all committed, and whose checks are the problem; null: another run. */
const checkedHeadline = ({ status, streams, checks = [] }: SyncReport): string | null => {
  if (status !== "partial" || streams.some((stream) => stream.status === "failed")) return null;
  if (checks.some((check) => check.severity === "error" && check.status === "failed"))
    return "Everything fetched is committed. A check keeps it from readers: the snapshot is as it was.";
  if (checks.some((check) => check.status === "broken"))
    return "Everything fetched is committed and published, although some checks could not run.";
  return null;
};

/** Says that the mirror is complete only if every stream is proven complete. */
const headlineOf = (report: SyncReport, named: boolean): string => {
  const checked = checkedHeadline(report);
  if (checked !== null) return checked;
  if (report.status !== "done") {
    const fetched = report.streams.some(({ pages }) => pages > 0);
    return (fetched ? HEADLINES : EMPTY_HEADLINES)[report.status];
  }
  const open = report.streams.filter(({ complete }) => !complete);
  const rows = open.reduce((sum, { unconfirmed }) => sum + (unconfirmed ?? 0), 0);
  if (open.length > 0) return `The mirror is not proven to be complete: ${unconfirmedText(rows)}.`;
  const rejected = report.streams.reduce((sum, stream) => sum + stream.rejected, 0);
  const but = rejected === 0 ? "" : ` but for ${counted(rejected, "record")} in sync.rejects`;
  if (!named) return `The mirror is complete${but}.`;
  return `Complete${but}: ${report.streams.map(({ stream }) => stream).join(", ")}.`;
};

/** Says where the records are that became no row. */
const rejectedLine = ({ streams }: SyncReport, paint: (text: string) => string): readonly string[] => {
  const names = streams.filter(({ rejected }) => rejected > 0).map(({ stream }) => paint(stream));
  if (names.length === 0) return [];
  return [`${names.join(", ")}: some records became no row; table sync.rejects holds them with the reason`];
};

const creditLine = ({ credits }: SyncReport): string => {
  const left = credits.remaining === null ? "" : `, ${formatCount(credits.remaining)} left`;
  const limit = credits.limit === null || left === "" ? "" : ` of ${formatCount(credits.limit)}`;
  const reset = credits.resets_at === null ? "" : `, reset ${minuteText(credits.resets_at)}`;
  const unsure =
    credits.ambiguous === 0 ? "" : ` (up to ${formatCount(credits.ambiguous)} more: answers lost on the way)`;
  return `${counted(credits.spent, "credit")} spent${unsure}${left}${limit}${reset}`;
};

/** The report as text for people, without a final line end. `named`: only named streams were read. */
export const renderSummary = (
  report: SyncReport,
  terminal: Pick<Terminal, "columns" | "outColours">,
  { named = false } = {},
): string => {
  const { columns, outColours: colours } = terminal;
  const paintStatus: Readonly<Record<StreamStatus, (text: string) => string>> = {
    done: colours.green,
    skipped: colours.dim,
    stopped: colours.yellow,
    interrupted: colours.yellow,
    failed: colours.red,
  };
  const sums = sumOfFigures(report.streams);
  const all: readonly SummaryColumn[] = [
    { name: "stream", of: ({ stream }) => stream, total: "total" },
    { name: "mode", of: ({ mode }) => mode, total: "" },
    { name: "status", of: ({ status }) => status, total: "" },
    ...FIGURES.filter((name) => ALWAYS.includes(name) || sums[name] > 0).map(
      (name): SummaryColumn => ({
        name,
        align: "right",
        of: (stream) => formatCount(stream[name]),
        total: formatCount(sums[name]),
      }),
    ),
  ];
  const cellsOf = (heads: readonly SummaryColumn[]) => [
    ...report.streams.map((stream) => heads.map(({ of }) => of(stream))),
    heads.map(({ total }) => total),
  ];
  const heads = GIVEN_UP.reduce(
    (kept, name) => (tableWidth(kept, cellsOf(kept)) > columns ? kept.filter((head) => head.name !== name) : kept),
    all,
  );
  const table = renderTable(heads, cellsOf(heads), columns, (text, column, row) => {
    const stream = report.streams[row];
    if (stream === undefined) return colours.bold(text);
    return heads[column]?.name === "status" ? paintStatus[stream.status](text) : text;
  });
  const took = formatDuration((timeMs(report.finished_at) ?? 0) - (timeMs(report.started_at) ?? 0));
  const errors = report.streams.flatMap(({ stream, error }) => (error ? [`${colours.red(stream)}: ${error}`] : []));
  const open = report.streams.flatMap(({ stream, error, unconfirmed, reason: because }) =>
    because === undefined || error !== undefined
      ? []
      : [`${colours.yellow(stream)}: ${unconfirmedText(unconfirmed)}: ${because}`],
  );
  return [
    table,
    ...errors,
    ...open,
    ...rejectedLine(report, colours.yellow),
    headlineOf(report, named),
    `${counted(report.requests, "request")} in ${took} · ${creditLine(report)}`,
    `warehouse: ${report.warehouse}`,
    "",
  ].join("\n");
};
