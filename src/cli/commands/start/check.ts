// duckmirror check: tests configuration, service and token, and finds the tier. Costs one credit: the ids of some
// accounts show tier, quota, rate, version, the number of accounts and the largest page; --totals asks for contacts and
// signals as well, one credit each. A refusal costs nothing.
import { existsSync } from "node:fs";
import { z } from "zod";
import { checkProfileJob } from "../../../../jobs/check-profile.ts";
import { recordedClient } from "../../../../jobs/recorded-client.ts";
import type { Client } from "../../../api/client.ts";
import type { ApiCall, ApiOutcome, OkOutcome } from "../../../api/outcome.ts";
import { chargeOf, verdictOf } from "../../../api/retry-policy.ts";
import type { StreamName } from "../../../catalog/streams.ts";
import type { Config } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { isJsonObject } from "../../../core/json.ts";
import { learnChecked } from "../../../core/state/checked.ts";
import { type KnownTier, learnTier, readTier, type TierEvidence } from "../../../core/state/tier.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { pageShownBy, probeAfterRefusal, probeOf, probeQuery } from "../../../sync/request/page-probe.ts";
import { type CommandContext, defineCommand } from "../../command.ts";

/** Longest wait for the rate limit, at most once. */
const LONGEST_WAIT_MS = 90_000;
const ACCOUNTS = { endpoint: "listAccounts", path: "/v1/accounts" } as const;
const MORE_LISTS = [
  { stream: "contacts", list: { endpoint: "listContacts", path: "/v1/contacts" } },
  { stream: "signals", list: { endpoint: "listSignals", path: "/v1/signals" } },
] as const;

const inputSchema = z
  .object({
    offline: z.boolean().default(false),
    probe: z.boolean().default(false),
    totals: z.boolean().default(false),
  })
  .refine(({ offline, probe }) => !(offline && probe), "--probe sends a request, --offline does not")
  .refine(({ offline, totals }) => !(offline && totals), "--totals sends requests, --offline does not");
type Input = z.output<typeof inputSchema>;

const tokenSource = (config: Config): string => {
  const name = { value: "token", file: "token_file", command: "token_command" }[config.token?.kind ?? "value"];
  return config.origins[name] ?? name;
};

interface Answer {
  readonly outcome: OkOutcome;
  readonly requests: number;
  /** Rows of the largest page; null: not shown. */
  readonly page: number | null;
}

/**
 * One usable response, of the largest page that the service grants. Waits once for the rate limit; throws every other failure
 * unchanged.
 */
const ask = async (
  client: Client,
  list: Pick<ApiCall, "endpoint" | "path">,
  largest: number,
  context: CommandContext,
): Promise<Answer> => {
  const { clock, signal, terminal } = context;
  let probe = probeOf(largest);
  let waited = false;
  for (let requests = 1; ; requests++) {
    const call = { ...list, query: probeQuery(probe) };
    const outcome: ApiOutcome = await client.send(call, signal);
    if (outcome.kind === "ok") return { outcome, requests, page: pageShownBy(probe, outcome) };
    if (outcome.kind === "refused") {
      const next = probeAfterRefusal(probe, outcome.status, outcome.excerpt);
      if (next !== null) {
        probe = next;
        continue;
      }
    }
    const now = clock.now();
    const verdict = verdictOf(outcome, { attempt: 1, maxAttempts: 1, random: 0.5, now, remainingCredits: null });
    if (verdict.kind === "wait" && !waited && verdict.untilMs - now <= LONGEST_WAIT_MS) {
      terminal.err(`rate limit reached, waiting ${Math.ceil((verdict.untilMs - now) / 1000)} s\n`);
      await clock.sleep(verdict.untilMs - now, signal);
      waited = true;
      continue;
    }
    if (verdict.kind === "fail" || verdict.kind === "stop") throw new DuckmirrorError(verdict.code, verdict.context);
    const detail = outcome.kind === "refused" ? `status ${outcome.status} ${outcome.excerpt}`.trim() : outcome.kind;
    throw new DuckmirrorError("REQUEST_FAILED", { endpoint: `GET ${call.path}`, detail });
  }
};

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Rows or a count: accounts are visible. An organization without Full Access gets an empty list. */
const tierOf = ({ data, page }: OkOutcome): "full" | "public" =>
  (Array.isArray(data) && data.length > 0) || (page.totalCount ?? 0) > 0 ? "full" : "public";

/** Keeps the tier for the next sync, which leaves the lists of Full Access out or asks for them again. */
const noteTier = async (config: Config, outcome: OkOutcome, now: number): Promise<KnownTier | null> => {
  const known = await readTier(config.dataDir);
  const held = known === null ? existsSync(snapshotPath(config.dataDir)) : known.tier === "full";
  const evidence: TierEvidence =
    tierOf(outcome) === "full"
      ? { shows: "full", because: "accounts were returned" }
      : { shows: "public", because: "the account list is empty", held };
  return learnTier(config.dataDir, evidence, now);
};

interface Asked {
  /** The list of accounts. */
  readonly outcome: OkOutcome;
  readonly page: number | null;
  /** Lists of --totals. */
  readonly more: readonly (Answer & { readonly stream: StreamName })[];
  readonly requests: number;
}

const askAll = async (
  client: Client,
  withTotals: boolean,
  largest: number,
  context: CommandContext,
): Promise<Asked> => {
  const first = await ask(client, ACCOUNTS, largest, context);
  const more: (Answer & { stream: StreamName })[] = [];
  let { requests } = first;
  // Without Full Access the other lists are empty, too.
  for (const { stream, list } of withTotals && tierOf(first.outcome) === "full" ? MORE_LISTS : []) {
    const answer = await ask(client, list, first.page ?? largest, context);
    more.push({ stream, ...answer });
    requests += answer.requests;
  }
  return { outcome: first.outcome, page: first.page, more, requests };
};

/** Keeps the lengths of the lists and the credits for a plan before the first sync. */
const noteChecked = (config: Config, { outcome, page: largest, more }: Asked, now: number): Promise<void> => {
  const answers = [{ stream: "accounts" as const, outcome, page: largest }, ...more];
  const totals = answers.flatMap(({ stream, outcome: { page } }) =>
    page.totalCount === null ? [] : [[stream, page.totalCount] as const],
  );
  const pageSizes = new Map(answers.flatMap(({ stream, page }) => (page === null ? [] : [[stream, page] as const])));
  const credits = answers.at(-1)?.outcome.usage ?? null;
  return learnChecked(config.dataDir, { totals: new Map(totals), pageSizes, credits }, now);
};

const reportOf = (config: Config, { outcome, page: largest, more, requests }: Asked, known: KnownTier | null) => {
  const last = more.at(-1)?.outcome ?? outcome;
  const { usage, rate } = last;
  const { page } = outcome;
  const meta = outcome.envelope.meta;
  const totalOf = (name: StreamName) => more.find(({ stream }) => stream === name)?.outcome.page.totalCount ?? null;
  return {
    ok: true,
    base_url: config.baseUrl,
    token_from: tokenSource(config),
    config_file: config.file,
    data_dir: config.dataDir,
    tier: tierOf(outcome),
    tier_since: known?.tier === tierOf(outcome) ? iso(known.since) : null,
    accounts: page.totalCount,
    contacts: totalOf("contacts"),
    signals: totalOf("signals"),
    /** Rows of the largest page of accounts; null: not shown. */
    largest_page: largest,
    credits: {
      spent: [outcome, ...more.map((each) => each.outcome)].filter((each) => chargeOf(each) === "spent").length,
      remaining: usage?.remaining ?? null,
      limit: usage?.limit ?? null,
      resets_at: iso(usage?.resetsAt ?? null),
    },
    rate_limit: {
      configured_per_minute: config.rateLimitPerMinute,
      // Headers often name no window; the documented rates are per minute (API.md, "Limits").
      per_minute: rate?.limit ? (rate.limit * 60_000) / (rate.windowMs ?? 60_000) : null,
      remaining: rate?.remaining ?? null,
    },
    api_version: isJsonObject(meta) && typeof meta.apiVersion === "string" ? meta.apiVersion : null,
    latency_ms: outcome.durationMs,
    requests,
  };
};
type CheckReport = ReturnType<typeof reportOf>;

const totalsText = ({ accounts, contacts, signals }: CheckReport): string =>
  [
    accounts === null ? "accounts are visible" : counted(accounts, "account"),
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
  return `${formatCount(credits.remaining)}${limit} left${credits.resets_at ? `, reset ${credits.resets_at}` : ""}`;
};

const rateText = ({ rate_limit: rate }: CheckReport): string => {
  const configured = rate.configured_per_minute === null ? "auto" : `${rate.configured_per_minute} per minute`;
  const reported = rate.per_minute === null ? "not reported" : `${Math.round(rate.per_minute)} per minute`;
  return `${reported} by the service, ${configured} configured`;
};

const render = (report: CheckReport, context: CommandContext): string => {
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
  return Object.entries(lines)
    .map(([name, text]) => `${name.padEnd(16)}${text}\n`)
    .join("");
};

const run = async ({ offline, totals }: Input, context: CommandContext): Promise<number> => {
  const { terminal, shared, clock, version, scrubber } = context;
  const config = await context.loadConfig();
  const token = await checkProfileJob(config, "load", { clock, version });
  scrubber.hide(token);
  const warn = (text: string) => terminal.err(`warning: ${text}\n`);
  const access = { token, version, clock, random: Math.random, warn };
  const client = recordedClient(config, access, { mode: "check", stream: "accounts" });
  try {
    if (offline) {
      const found = { ok: true, base_url: config.baseUrl, token_from: tokenSource(config), config_file: config.file };
      if (shared.json) await context.printJson(found);
      else await terminal.out(`The configuration is valid (${config.file ?? "no file"}). Nothing was requested.\n`);
      return EXIT.done;
    }
    const asked = await askAll(client, totals, config.maxPageSize, context);
    await noteChecked(config, asked, clock.now());
    const report = reportOf(config, asked, await noteTier(config, asked.outcome, clock.now()));
    if (shared.json) await context.printJson(report);
    else await terminal.out(render(report, context));
    return EXIT.done;
  } finally {
    await client.close();
  }
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--offline", "check the configuration only: no request, no credit")
      .option("--probe", "ask for the tier now, as every check that is not --offline does")
      .option("--totals", "also count contacts and signals, one credit each, so that `plan` knows them"),
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
