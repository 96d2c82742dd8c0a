// Renders the lines of `plan` on credits: what is left, how long it lasts, what is not known. Pure.
import type { PlanReport } from "../../../../jobs/plan.ts";
import type { Waiting } from "../../../core/state/unusable-responses.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { isoTime, minuteText } from "../../../core/time.ts";
import { renderTable, right } from "../table.ts";

// Lists and records that wait because their answers could not be used, for people.

/** One line for each stream: `contacts: 1 request waits until 2026-11-21 05:00 UTC, ...`. */
export const waitingLines = (waiting: readonly Waiting[]): readonly string[] =>
  waiting.map(({ stream, places, until }) => {
    const requests = `${counted(places, "request")} ${places === 1 ? "waits" : "wait"}`;
    const why = "it was refused, or the answer could not be used";
    return `${stream}: ${requests} until ${minuteText(isoTime(until))}: ${why}; \`duckmirror sync ${stream}\` asks at once`;
  });

/** What happens to unused credits at the reset, and how that is known. */
const ROLLS_OVER = {
  seen: "unspent credits roll over for up to 3 billing cycles, and the last reset showed it",
  absent: "by the figures of the last reset, unspent credits do not come over",
  unknown: "unspent credits roll over for up to 3 billing cycles, by the service's documentation",
} as const;

const dayText = (ms: number): string =>
  new Date(ms).toLocaleDateString("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });

const listText = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** `contacts would be 9 days old at worst, and usage would not be read again before the reset`. */
const agingText = ({ outlook: { aging } }: PlanReport): string => {
  const aged = aging.flatMap(({ stream, days }) =>
    days === null ? [] : [`${stream} would be ${counted(Math.ceil(days), "day")} old at worst`],
  );
  const lost = aging.filter(({ days }) => days === null).map(({ stream }) => stream);
  return [...aged, ...(lost.length === 0 ? [] : [`${listText(lost)} would not be read again before the reset`])].join(
    ", and ",
  );
};

const deficitText = (report: PlanReport): readonly string[] => {
  const { outlook, credits, pace } = report;
  if (!outlook.short) return [];
  const empty = outlook.emptyOn === null ? "" : `empty on ${dayText(outlook.emptyOn)}, `;
  const reset = credits.resetsAt === null ? "" : ` until the reset on ${dayText(credits.resetsAt)}`;
  const even = pace === "even" ? "with pace even, as configured," : "with pace even";
  const aging = outlook.aging.length === 0 ? "" : `; ${even} ${agingText(report)}`;
  return [`${empty}${formatCount(outlook.short)} short${reset}${aging}`];
};

const surplusText = ({ outlook, credits, rollOver }: PlanReport): readonly string[] => {
  const { leftAtReset, coveredPeriods, perPeriod } = outlook;
  if (leftAtReset === null || leftAtReset < 0) return [];
  const further =
    coveredPeriods === null
      ? ""
      : `; 30 days need about ${formatCount(perPeriod)} of ${formatCount(rollOver.grant ?? credits.limit ?? 0)}, so they cover ${counted(coveredPeriods, "more period")}`;
  return [`about ${formatCount(leftAtReset)} will be left at the reset; ${ROLLS_OVER[rollOver.shown]}${further}`];
};

/** What is left, what fits, what a day costs, and what that means until the reset. */
export const creditLinesOf = (report: PlanReport): readonly string[] => {
  const { credits, allowance, forecast, outlook } = report;
  const lines: string[] = [];
  if (credits.remaining !== null) {
    const reset = credits.resetsAt === null ? "" : ` until ${new Date(credits.resetsAt).toISOString().slice(0, 10)}`;
    lines.push(`${counted(credits.remaining, "credit")} left${reset}`);
  }
  if (allowance !== null && forecast.requests > allowance) {
    lines.push(
      allowance === 1
        ? "only the most valuable request fits; the next sync continues from there"
        : `only the most valuable ${formatCount(allowance)} requests fit; the next sync continues from there`,
    );
  }
  if (forecast.atLeast) return lines;
  const changes =
    outlook.expectedPerDay > outlook.creditsPerDay
      ? `, with the changes of the last syncs about ${formatCount(outlook.expectedPerDay)}`
      : "";
  lines.push(`an unchanged source costs about ${counted(outlook.creditsPerDay, "credit")} a day${changes}`);
  return [...lines, ...deficitText(report), ...surplusText(report)];
};

/** What the forecast lacks, and how to find out. */
export const unknownLinesOf = ({ forecast: { unknown } }: PlanReport): readonly string[] => {
  if (unknown.length === 0) return [];
  const follows = unknown.includes("accounts") ? ", and so how many companies and insights there are" : "";
  const length = unknown.length === 1 ? "the length of" : "the lengths of";
  const others = unknown.some((stream) => stream === "contacts" || stream === "signals");
  const ways = [
    ...(unknown.includes("accounts") || unknown.includes("usage")
      ? ["`duckmirror check` counts accounts and usage for one credit"]
      : []),
    ...(others ? ["`duckmirror check --totals` counts accounts, contacts and signals for three credits"] : []),
  ];
  return [`not known: ${length} ${listText(unknown)}${follows}`, ways.join("; ")];
};

/** Credits a day of each stream in the long run, with and without content. */
export const projectionOf = ({ outlook, forecast }: PlanReport, columns: number): readonly string[] => {
  const streams = outlook.streams.filter(({ withContent, creditsPerDay }) => withContent > 0 || creditsPerDay > 0);
  if (forecast.atLeast || streams.length === 0) return [];
  return [
    "Credits a day from then on, while nothing changes, for changes, and in all without and with opt-in content:",
    renderTable(
      ["stream", ...["unchanged", "changes", "no content", "all content"].map(right)],
      streams.map((one) => [one.stream, one.creditsPerDay, one.changesPerDay, one.withoutContent, one.withContent]),
      columns,
    ),
  ];
};
