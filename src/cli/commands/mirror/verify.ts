// duckmirror verify: compares the mirror with the service at the fewest credits and lists every difference, with what is only
// newer at the service last.

import { z } from "zod";
import { VERIFY_CREDITS, VERIFY_SAMPLE, verifyJob } from "../../../../jobs/verify.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { type Difference, type VerifyReport, wrongOnes } from "../../../sync/verify/report.ts";
import { anyArguments, defineCommand, flag, option, optionOf } from "../../command.ts";
import { addStreams, streamsOf } from "../../options/streams-argument.ts";
import { recordedJob } from "../../recorded-job.ts";
import { renderTable, right, type TableCell } from "../../terminal/table.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** Differences shown in the table; `--json` has all of them. */
const MOST_SHOWN = 50;

const CHECK_COLUMNS = ["stream", "check", right("made"), right("records"), right("credits"), "result"];
const DIFFERENCE_COLUMNS = ["stream", "company", "what", "record", "field", "mirror", "api", "verdict", "repaired"];

/** Results, worst first; several checks of one kind show the worst. */
const RESULTS = ["differs", "failed", "newer", "skipped", "equal"] as const;

const checkRows = ({ checks }: VerifyReport): readonly (readonly TableCell[])[] => {
  const kinds = [...new Set(checks.map(({ stream, check }) => `${stream}\n${check}`))];
  return kinds.map((kind) => {
    const mine = checks.filter(({ stream, check }) => `${stream}\n${check}` === kind);
    const sum = (name: "records" | "credits") => mine.reduce((total, one) => total + one[name], 0);
    const [stream = "", check = ""] = kind.split("\n");
    const result = RESULTS.find((status) => mine.some((one) => one.status === status)) ?? "equal";
    return [stream, check, mine.length, sum("records"), sum("credits"), result];
  });
};

const differenceRow = (difference: Difference): readonly TableCell[] => [
  difference.stream,
  difference.scope,
  difference.kind,
  difference.key,
  difference.field,
  difference.mirror ?? "NULL",
  difference.api ?? "NULL",
  difference.verdict,
  difference.repaired ? "yes" : "no",
];

const headline = ({ checks, differences }: VerifyReport): string => {
  const records = counted(
    checks.reduce((sum, check) => sum + check.records, 0),
    "record",
  );
  const wrong = wrongOnes(differences).length;
  const newer = differences.length - wrong;
  const later = newer === 0 ? "" : `, and ${counted(newer, "later change")} of the service, which syncs load`;
  if (wrong > 0) return `${counted(wrong, "difference")}${later} (${records} compared).`;
  return newer === 0 ? `Equal in everything compared (${records}).` : `Nothing is wrong${later} (${records} compared).`;
};

const renderReport = (report: VerifyReport, terminal: Pick<Terminal, "columns">): string => {
  const { differences, checks_left, credits } = report;
  const notes = new Set(report.checks.flatMap(({ stream, note }) => (note === null ? [] : [`${stream}: ${note}`])));
  const worstFirst = [...wrongOnes(differences), ...differences.filter(({ verdict }) => verdict === "newer")];
  const shown = worstFirst.slice(0, MOST_SHOWN).map(differenceRow);
  const more = differences.length - shown.length;
  const remaining = credits.remaining === null ? "" : `, ${formatCount(credits.remaining)} left`;
  return [
    renderTable(CHECK_COLUMNS, checkRows(report), terminal.columns),
    ...(shown.length === 0 ? [] : [renderTable(DIFFERENCE_COLUMNS, shown, terminal.columns)]),
    ...(more > 0 ? [`and ${formatCount(more)} more; --json names all of them`] : []),
    ...notes,
    headline(report),
    ...(checks_left > 0 ? [`${counted(checks_left, "more check")} possible with more --max-credits`] : []),
    `${counted(credits.spent, "credit")} spent${remaining}`,
  ].join("\n");
};

export const command = defineCommand({
  configure: (cli) => addStreams(cli, "compare"),
  examples: {
    "duckmirror verify": `counts and a random sample, for ${VERIFY_CREDITS} credits at most; exit code 5 when anything is wrong`,
    "duckmirror verify signals --max-credits 3": "one stream, three credits",
    "duckmirror verify signals --counts --max-credits 30": "counts of parts of one list, and the rows that differ",
    "duckmirror verify --repair --json": "load what differs; every difference as JSON",
  },
  input: z.object({
    args: anyArguments,
    maxCredits: option("<n>", `spend at most this many credits, repairs included (default ${VERIFY_CREDITS})`),
    sample: optionOf(z.coerce.number().int().min(1).max(100_000).default(VERIFY_SAMPLE), {
      value: "<n>",
      summary: "records to compare per stream (default 100), rounded up to whole pages",
    }),
    counts: flag("compare counts of lists and of their parts, and find the rows in parts that differ"),
    repair: flag("load what differs, delete what is confirmed gone, walk lists whose count differs"),
    allowMassDelete: flag("with --repair: delete even more than max_delete_share"),
  }),
  run: async ({ args, maxCredits, ...options }, context) => {
    const config = await context.loadConfig({ max_credits: maxCredits });
    const allowed = config.maxCredits ?? VERIFY_CREDITS;
    const request = {
      ...options,
      streams: streamsOf(args),
      maxCredits: maxCredits === undefined ? Math.min(allowed, VERIFY_CREDITS) : allowed,
    };
    const { streams } = request;
    const { report, error } = await recordedJob(config, context, { action: "verify", streams }, (engine) =>
      verifyJob(config, request, engine),
    );
    return context.show(report, () => renderReport(report, context.terminal), error);
  },
});
