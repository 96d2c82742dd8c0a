// duckmirror plan: forecasts the next sync's requests with reasons, in requests, credits and time. Sends nothing.
import { z } from "zod";
import { type PlanReport, planJob, planJson } from "../../../../jobs/plan.ts";
import { counted, formatCount, formatDuration } from "../../../core/text/units.ts";
import { isoTimeOrNull } from "../../../core/time.ts";
import { DEFAULT_PAGE } from "../../../sync/plan/candidate.ts";
import { priceText } from "../../../sync/plan/forecast/content-prices.ts";
import { anyArguments, type CommandContext, defineCommand, flag, listOf, option } from "../../command.ts";
import { addStreams, streamsOf } from "../../options/streams-argument.ts";
import { creditLinesOf, projectionOf, unknownLinesOf, waitingLines } from "../../terminal/plan/outlook-lines.ts";
import { renderTable, right } from "../../terminal/table.ts";

const MOST_REASONS = 2;

type StreamForecast = PlanReport["forecast"]["streams"][number];

/** `39 lists`, `40 records`, `1 list, 12 records`: the parts of a stream to read. */
const readsText = ({ scopes, lists }: StreamForecast): string =>
  [...(lists > 0 ? [counted(lists, "list")] : []), ...(scopes > lists ? [counted(scopes - lists, "record")] : [])].join(
    ", ",
  );

const reasonsText = (because: StreamForecast["because"]): string => {
  const named = because
    .slice(0, MOST_REASONS)
    .map(({ reason, scopes }) => (because.length === 1 ? reason : `${formatCount(scopes)} ${reason}`));
  return because.length > MOST_REASONS ? `${named.join(", ")}, …` : named.join(", ");
};

/** One line for each field of `--with`. */
const contentText = ({ content }: PlanReport): string =>
  content.map((price) => `${price.stream}.${price.field}: ${priceText(price)}\n`).join("");

/** Lines on the tier where it leaves streams out; else nothing. */
const tierText = ({ tier, followed }: PlanReport): string => {
  if (tier?.tier !== "public") return "";
  const since = isoTimeOrNull(tier.since)?.slice(0, 10);
  const nothing = followed > 0 ? "" : "no company is followed: `duckmirror follow INPUT` adds one\n";
  return `no Full Access since ${since} (${tier.evidence}), so its lists are left out\n${nothing}`;
};

/** One line for each budget that leaves due work out. */
const cutsText = ({ cuts }: PlanReport): string =>
  cuts
    .map(({ budget, allowed, spent, leftOut }) => {
      const before = spent === 0 ? "" : `, ${formatCount(spent)} spent`;
      return `budget ${budget} (${formatCount(allowed)}${before}) leaves out ${counted(leftOut, "request")}\n`;
    })
    .join("");

/** `39`, or `39 to 112` where the size of pages is not known. */
const rangeText = ({ requests, most }: { readonly requests: number; readonly most: number }): string =>
  most > requests ? `${formatCount(requests)} to ${formatCount(most)}` : formatCount(requests);

/** Why there is a range, and what ends it. */
const unknownTexts = ({ streams, requests, most }: PlanReport["forecast"]): readonly string[] => {
  const perhaps = streams.reduce((sum, stream) => sum + stream.perhaps, 0);
  const pages = `the largest page is not known, between ${DEFAULT_PAGE} rows, the default, and what is asked for\n\`duckmirror check\` finds it out for one credit`;
  const content = `not known whether the list of signals returns full content; else it takes a request for each of up to ${formatCount(perhaps)}; the first sync finds out`;
  return [...(perhaps > 0 ? [content] : []), ...(most > requests + perhaps ? [pages] : [])];
};

/** `39 requests, as many credits, 3m at 10 per minute`. */
export const totalText = ({ forecast, outlook }: PlanReport): string => {
  const { minutes, ratePerMinute } = outlook;
  const long = minutes === null || minutes < 1 ? "under a minute" : formatDuration(minutes * 60_000);
  const time = minutes === null ? "" : `, ${long} at ${formatCount(ratePerMinute ?? 0)} per minute`;
  if (forecast.atLeast) return "the number of requests, and so of credits, is not known yet";
  if (forecast.most > forecast.requests) {
    return `${rangeText(forecast)} requests, as many credits: ${unknownTexts(forecast).join("; ")}`;
  }
  const requests =
    forecast.requests === 1 ? "1 request, 1 credit" : `${formatCount(forecast.requests)} requests, as many credits`;
  return `${requests}${time}`;
};

const render = (report: PlanReport, { terminal }: CommandContext): string => {
  const { forecast } = report;
  const waiting = waitingLines(report.waiting).map((line) => `${line}\n`);
  const notes = `${contentText(report)}${tierText(report)}${cutsText(report)}${waiting.join("")}`;
  if (forecast.streams.length === 0) {
    const first = waiting.length === 0 ? "Nothing is due." : "Nothing is asked for now.";
    return `${report.cuts.length === 0 ? first : "Nothing fits the budgets."}\n${notes}`;
  }
  const table = renderTable(
    ["stream", right("reads"), right("credits"), "because"],
    forecast.streams.map((stream) => [
      stream.stream,
      readsText(stream),
      stream.atLeast ? "not known" : rangeText(stream),
      reasonsText(stream.because),
    ]),
    terminal.columns,
  );
  const lines = [
    table,
    totalText(report),
    ...unknownLinesOf(report),
    ...creditLinesOf(report),
    ...projectionOf(report, terminal.columns),
  ];
  return `${lines.join("\n")}\n${notes}`;
};

export const command = defineCommand({
  configure: (cli) => addStreams(cli, "plan for"),
  examples: {
    "duckmirror plan": "what the next sync would cost, and why",
    "duckmirror plan --with signals.fullContent": "what the full text of signals would cost",
    "duckmirror plan --full --json": "a complete comparison, for scripts",
  },
  input: z.object({
    args: anyArguments,
    full: flag("plan a sync that walks every list completely"),
    maxCredits: option("<n>", "plan for this allowance"),
    with: option("<fields>", "plan with opt-in content, e.g. signals.fullContent, and show its price"),
  }),
  run: async (input, context) => {
    const config = await context.loadConfig({ max_credits: input.maxCredits });
    const streams = streamsOf(input.args);
    const withContent = listOf(input.with);
    const report = await planJob(config, { streams, full: input.full, withContent }, context.clock);
    return context.show(planJson(report), () => render(report, context));
  },
});
