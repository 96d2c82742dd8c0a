// duckmirror check: tests configuration, service and token, and finds the tier. Costs one credit: the ids of some
// accounts show tier, quota, rate, version, the number of accounts and the largest page; --totals asks for contacts and
// signals as well, and for accounts inside the setting `scope`, one credit each. A refusal costs nothing.
import { z } from "zod";
import { type CheckResult, checkJob, checkProfileJob } from "../../../../jobs/check.ts";
import { recordedClient } from "../../../../jobs/recorded-client.ts";
import { chargeOf } from "../../../api/retry-policy.ts";
import type { ScopedTable } from "../../../catalog/tables.ts";
import type { Config } from "../../../core/config/config.ts";
import { isJsonObject } from "../../../core/json.ts";
import { shownTier } from "../../../core/state/tier.ts";
import { waitingJson } from "../../../core/state/unusable-responses.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { isoTimeOrNull, minuteText } from "../../../core/time.ts";
import { type CommandContext, defineCommand, flag } from "../../command.ts";
import { waitingLines } from "../../terminal/plan/outlook-lines.ts";

const inputSchema = z
  .object({
    offline: flag("check the configuration only: no request, no credit"),
    probe: flag("ask for the tier now; every check does, except with --offline"),
    totals: flag(
      "also count contacts and signals (and accounts, with a scope), one credit each, so that `plan` knows them",
    ),
  })
  .refine(({ offline, probe }) => !(offline && probe), "--probe sends a request, --offline does not")
  .refine(({ offline, totals }) => !(offline && totals), "--totals sends requests, --offline does not");
type Input = z.output<typeof inputSchema>;

const tokenSource = (config: Config): string => {
  const name = { value: "token", file: "token_file", command: "token_command" }[config.token?.kind ?? "value"];
  return config.origins[name] ?? name;
};

const reportOf = (config: Config, { accounts, more, tier, known, waiting }: CheckResult) => {
  const { outcome, page: largest } = accounts;
  const { usage, rate } = more.at(-1)?.outcome ?? outcome;
  const meta = outcome.envelope.meta;
  const lists = [accounts, ...more];
  const totalOf = (name: ScopedTable) => more.find(({ stream }) => stream === name)?.outcome.page.totalCount ?? null;
  return {
    ok: true,
    base_url: config.baseUrl,
    token_from: tokenSource(config),
    config_file: config.file,
    data_dir: config.dataDir,
    tier,
    tier_since: isoTimeOrNull(known === null ? null : shownTier(known).since),
    /** Rows of the whole list. */
    accounts: outcome.page.totalCount,
    /** Rows inside the setting `scope`; null: not counted. Contacts and signals are always counted inside it. */
    accounts_in_scope: totalOf("accounts"),
    contacts: totalOf("contacts"),
    signals: totalOf("signals"),
    /** Rows of the largest page of accounts; null: not shown. */
    largest_page: largest,
    credits: {
      spent: lists.filter((list) => chargeOf(list.outcome) === "spent").length,
      remaining: usage?.remaining ?? null,
      limit: usage?.limit ?? null,
      resets_at: isoTimeOrNull(usage?.resetsAt ?? null),
    },
    rate_limit: {
      configured_per_minute: config.rateLimitPerMinute,
      // Headers often name no window; the documented rates are per minute (API.md, "Limits").
      per_minute: rate?.limit ? (rate.limit * 60_000) / (rate.windowMs ?? 60_000) : null,
      remaining: rate?.remaining ?? null,
    },
    /** Streams of which some requests wait, because the answers could not be used; null: the snapshot cannot be read. */
    waiting: waiting === null ? null : waitingJson(waiting),
    api_version: isJsonObject(meta) && typeof meta.apiVersion === "string" ? meta.apiVersion : null,
    latency_ms: outcome.durationMs,
    requests: lists.reduce((sum, { requests }) => sum + requests, 0),
  };
};
type CheckReport = ReturnType<typeof reportOf>;

const totalsText = ({ accounts, accounts_in_scope: inScope, contacts, signals }: CheckReport): string =>
  [
    accounts === null ? "accounts are visible" : counted(accounts, "account"),
    ...(inScope === null ? [] : [`${formatCount(inScope)} of them in scope`]),
    ...(contacts === null ? [] : [counted(contacts, "contact")]),
    ...(signals === null ? [] : [counted(signals, "signal")]),
  ].join(", ");

const tierText = (report: CheckReport): string =>
  report.tier === "full"
    ? `Full Access (${totalsText(report)})`
    : "Public API only, or Full Access without any account: the account list is empty";

const creditText = ({ credits }: CheckReport): string => {
  if (credits.remaining === null) return "not reported";
  const limit = credits.limit === null ? "" : ` of ${formatCount(credits.limit)}`;
  return `${formatCount(credits.remaining)}${limit} left${credits.resets_at ? `, reset ${minuteText(credits.resets_at)}` : ""}`;
};

const rateText = ({ rate_limit: rate }: CheckReport): string => {
  const configured = rate.configured_per_minute === null ? "auto" : `${rate.configured_per_minute} per minute`;
  const reported = rate.per_minute === null ? "not reported" : `${Math.round(rate.per_minute)} per minute`;
  return `service: ${reported}; setting \`rate_limit\`: ${configured}`;
};

const render = (report: CheckReport, waiting: CheckResult["waiting"], context: CommandContext): string => {
  const { green, bold } = context.terminal.outColours;
  const lines = {
    configuration: `${green("ok")}, ${report.config_file ?? "no file"}`,
    "data directory": `${green("ok")}, ${report.data_dir}`,
    address: `${green("ok")}, ${report.base_url} (${report.latency_ms} ms)`,
    token: `${green("ok")}, from ${report.token_from}`,
    tier: bold(tierText(report)),
    credits: creditText(report),
    "rate limit": rateText(report),
    "largest page": report.largest_page === null ? "not found" : counted(report.largest_page, "row"),
    "API version": report.api_version ?? "not reported",
    cost: counted(report.credits.spent, "credit"),
  };
  return [
    ...Object.entries(lines).map(([name, text]) => `${name.padEnd(16)}${text}`),
    ...waitingLines(waiting ?? []),
  ].join("\n");
};

/** Tests address and token, for one credit, or three with `totals`. Throws what is wrong with them. */
export const testService = async (config: Config, totals: boolean, context: CommandContext) => {
  const { terminal, clock, version, scrubber, signal } = context;
  const token = await checkProfileJob(config, { clock, version });
  scrubber.hide(token);
  const warn = (text: string) => terminal.err(`warning: ${text}\n`);
  const access = { token, version, clock, random: Math.random, warn };
  const client = recordedClient(config, access, { mode: "check", stream: "accounts" });
  try {
    const onWait = (waitMs: number) => terminal.err(`rate limit reached, waiting ${Math.ceil(waitMs / 1000)} s\n`);
    const result = await checkJob(config, client, totals, { clock, signal, onWait });
    const report = reportOf(config, result);
    return { report, text: () => render(report, result.waiting, context) };
  } finally {
    await client.close();
  }
};

const run = async ({ offline, totals }: Input, context: CommandContext): Promise<number> => {
  const { clock, version } = context;
  const config = await context.loadConfig();
  if (offline) {
    await checkProfileJob(config, { clock, version });
    return context.show(
      { ok: true, base_url: config.baseUrl, token_from: tokenSource(config), config_file: config.file },
      () => `The configuration is valid (${config.file ?? "no file"}). Nothing was requested.`,
    );
  }
  const { report, text } = await testService(config, totals, context);
  return context.show(report, text);
};

export const command = defineCommand({
  examples: {
    "duckmirror check": "configuration, address, token, tier and credits, for one credit",
    "duckmirror check --offline": "the configuration only",
    "duckmirror check --totals": "before the first sync: `plan` then knows the length of every list, for three credits",
    "duckmirror check --probe": "after an upgrade to Full Access: the next sync reads its lists",
    "duckmirror check --json": "for scripts; exit code 3: token refused, 5: not reachable",
  },
  input: inputSchema,
  run,
});
