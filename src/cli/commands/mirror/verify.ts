// duckmirror verify: compares the mirror with the service at the fewest credits and lists every difference, with what is only
// newer at the service last.

import { z } from "zod";
import { VERIFY_CREDITS, VERIFY_SAMPLE, verifyJob } from "../../../../jobs/verify.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { type Difference, type VerifyReport, wrongOnes } from "../../../sync/verify/report.ts";
import { defineCommand } from "../../command.ts";
import { addStreams, streamsOf } from "../../options/streams-argument.ts";
import { withError } from "../../problem.ts";
import { recordedJob } from "../../recorded-job.ts";
import { renderTable, type TableColumn } from "../../terminal/table.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** Differences shown in the table; `--json` has all of them. */
const MOST_SHOWN = 50;

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  maxCredits: z.string().optional(),
  sample: z.coerce.number().int().min(1).max(100_000).default(VERIFY_SAMPLE),
  counts: z.boolean().default(false),
  repair: z.boolean().default(false),
  allowMassDelete: z.boolean().default(false),
});

const CHECK_COLUMNS: readonly TableColumn[] = [
  { name: "stream" },
  { name: "check" },
  { name: "made", align: "right" },
  { name: "records", align: "right" },
  { name: "credits", align: "right" },
  { name: "result" },
];
const DIFFERENCE_COLUMNS: readonly TableColumn[] = [
  { name: "stream" },
  { name: "company" },
  { name: "what" },
  { name: "record" },
  { name: "field" },
  { name: "mirror" },
  { name: "api" },
  { name: "verdict" },
  { name: "repaired" },
];

/** Results, worst first; several checks of one kind show the worst. */
const RESULTS = ["differs", "failed", "newer", "skipped", "equal"] as const;

const checkRows = ({ checks }: VerifyReport): readonly (readonly string[])[] => {
  const kinds = [...new Set(checks.map(({ stream, check }) => `${stream}\n${check}`))];
  return kinds.map((kind) => {
    const mine = checks.filter(({ stream, check }) => `${stream}\n${check}` === kind);
    const sum = (of: (check: VerifyReport["checks"][number]) => number) =>
      formatCount(mine.reduce((total, check) => total + of(check), 0));
    const [stream = "", check = ""] = kind.split("\n");
    const result = RESULTS.find((status) => mine.some((one) => one.status === status)) ?? "equal";
    return [stream, check, formatCount(mine.length), sum((one) => one.records), sum((one) => one.credits), result];
  });
};

const differenceRow = (difference: Difference): readonly string[] => [
  difference.stream,
  difference.scope,
  difference.kind,
  difference.key ?? "",
  difference.field ?? "",
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
  configure: (cli) =>
    addStreams(cli, "compare")
      .option("--max-credits <n>", `spend at most this many credits, repairs included (default ${VERIFY_CREDITS})`)
      .option("--sample <n>", "records to compare per stream (default 100), rounded up to whole pages")
      .option("--counts", "compare counts of lists and of their parts, and find the rows in parts that differ")
      .option("--repair", "load what differs, delete what is confirmed gone, walk lists whose count differs")
      .option("--allow-mass-delete", "with --repair: delete even more than max_delete_share"),
  examples: {
    "duckmirror verify": `counts and a random sample, for ${VERIFY_CREDITS} credits at most; exit code 5 when anything is wrong`,
    "duckmirror verify signals --max-credits 3": "one stream, three credits",
    "duckmirror verify signals --counts --max-credits 30": "counts of parts of one list, and the rows that differ",
    "duckmirror verify --repair --json": "load what differs; every difference as JSON",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, terminal } = context;
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const allowed = config.maxCredits ?? VERIFY_CREDITS;
    const request = {
      streams: streamsOf(input.args),
      maxCredits: input.maxCredits === undefined ? Math.min(allowed, VERIFY_CREDITS) : allowed,
      sample: input.sample,
      counts: input.counts,
      repair: input.repair,
      allowMassDelete: input.allowMassDelete,
    };
    const { streams } = request;
    const { report, error } = await recordedJob(config, context, { action: "verify", streams }, (engine) =>
      verifyJob(config, request, engine),
    );
    if (shared.json) await context.printJson(withError(report, error, context.scrubber));
    else await terminal.out(`${renderReport(report, terminal)}\n`);
    return error === null ? EXIT.done : context.printProblem(error).exitCode;
  },
});
