// Job check: asks for one page of ids, the largest that the service grants, and keeps what it shows: tier, credits, rows of
// the list. For plans before the first sync it also counts the other lists, with the filters of the setting `scope`.
import { existsSync } from "node:fs";
import type { Client } from "../src/api/client.ts";
import type { OkOutcome } from "../src/api/outcome.ts";
import type { ScopedTable } from "../src/catalog/tables.ts";
import type { Config } from "../src/core/config/config.ts";
import { resolveHashKey, resolveToken } from "../src/core/config/secrets.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { Secret } from "../src/core/secret.ts";
import { type Checked, learnChecked } from "../src/core/state/last-check.ts";
import { type KnownTier, learnTier, readTier, type TierEvidence } from "../src/core/state/tier.ts";
import { type Waiting, waitingNow } from "../src/core/state/unusable-responses.ts";
import { unusableIn } from "../src/sync/plan/capabilities.ts";
import { pageShownBy, probeAfterRefusal, probeOf, probeQuery } from "../src/sync/request/page-probe.ts";
import { filtersOf } from "../src/sync/rows/row-scope.ts";
import { assertWritable } from "../src/warehouse/file/working-file.ts";
import { readSnapshot } from "../src/warehouse/read/mirror-reader.ts";
import { answerTo, type SingleRequest } from "./recorded-client.ts";
import { type AccessContext, clientOf } from "./service-access.ts";

const LISTS = {
  accounts: { endpoint: "listAccounts", path: "/v1/accounts" },
  contacts: { endpoint: "listContacts", path: "/v1/contacts" },
  signals: { endpoint: "listSignals", path: "/v1/signals" },
} as const;

type Filters = Readonly<Record<string, string>>;

/** One list that answered. */
export interface CheckedList {
  readonly stream: ScopedTable;
  readonly outcome: OkOutcome;
  /** The filters that the service accepted; null: the whole list. */
  readonly filters: Filters | null;
  /** Requests it took: refusals cost nothing. */
  readonly requests: number;
  /** Rows of the largest page; null: not shown. */
  readonly page: number | null;
}

export interface CheckResult {
  /** The list of accounts, without filters. */
  readonly accounts: CheckedList;
  /** Lists that were asked for besides: contacts, signals, and accounts if they have a scope. */
  readonly more: readonly CheckedList[];
  readonly tier: "full" | "public";
  /** The tier as known now; null: this answer alone does not decide it. */
  readonly known: KnownTier | null;
  /** What waits because its answers could not be used, by the published snapshot; null: it cannot be read. */
  readonly waiting: readonly Waiting[] | null;
}

/** One usable response, of the largest page that the service grants. Throws as `answerTo`. */
const ask = async (
  client: Client,
  stream: ScopedTable,
  { largest, filters }: { readonly largest: number; readonly filters: Filters | null },
  asking: SingleRequest,
): Promise<CheckedList> => {
  let probe = probeOf(largest, filters);
  const callOf = () => ({ ...LISTS[stream], query: probeQuery(probe) });
  const { outcome, requests } = await answerTo(client, callOf(), asking, (status, excerpt) => {
    const next = probeAfterRefusal(probe, status, excerpt);
    if (next === null) return null;
    probe = next;
    return callOf();
  });
  return { stream, outcome, filters: probe.filters, requests, page: pageShownBy(probe, outcome) };
};

/** Rows or a count: accounts are visible. An organization without Full Access gets an empty list. */
const tierOf = ({ data, page }: OkOutcome): "full" | "public" =>
  (Array.isArray(data) && data.length > 0) || (page.totalCount ?? 0) > 0 ? "full" : "public";

/** Keeps the tier for the next sync, which leaves the lists of Full Access out or asks for them again. */
const noteTier = async (config: Config, tier: "full" | "public", now: number): Promise<KnownTier | null> => {
  const known = await readTier(config.dataDir);
  const held = known === null ? existsSync(snapshotPath(config.dataDir)) : known.tier === "full";
  const evidence: TierEvidence =
    tier === "full"
      ? { shows: "full", because: "accounts were returned" }
      : { shows: "public", because: "the account list is empty", held };
  return learnTier(config.dataDir, evidence, now);
};

/**
 * Keeps the lengths of the lists and the credits for a plan before the first sync. Of a list counted twice, the last
 * counts.
 */
const noteLists = (config: Config, answers: readonly CheckedList[]): Promise<void> => {
  const lists: Checked["lists"] = {};
  for (const { stream, outcome, filters, page } of answers) {
    const total = outcome.page.totalCount;
    const used = filters === null ? null : JSON.stringify(filters);
    if (total !== null) lists[stream] = { total, page: page ?? lists[stream]?.page ?? null, filters: used };
  }
  return learnChecked(config.dataDir, { lists, credits: answers.at(-1)?.outcome.usage ?? null });
};

/** What waits, by the published snapshot; null: it cannot be read, which says nothing about the service. */
const readWaiting = async ({ dataDir }: Config, now: number): Promise<readonly Waiting[] | null> => {
  const snapshot = snapshotPath(dataDir);
  if (!existsSync(snapshot)) return [];
  return readSnapshot(snapshot, async (reader) => waitingNow(unusableIn(await reader.capabilities()), now)).catch(
    () => null,
  );
};

/**
 * Asks for accounts, one credit; `withTotals`: for contacts and signals as well, and for the accounts inside the scope
 * if there is one, a credit each. Without Full Access the other lists are empty, and not asked for. Throws the
 * service's failures.
 */
export const checkJob = async (
  config: Config,
  client: Client,
  withTotals: boolean,
  context: SingleRequest,
): Promise<CheckResult> => {
  const largest = config.maxPageSize;
  const accounts = await ask(client, "accounts", { largest, filters: null }, context);
  const tier = tierOf(accounts.outcome);
  const more: CheckedList[] = [];
  const isScoped = filtersOf(config.rowScope, "accounts") !== null;
  const others: readonly ScopedTable[] = isScoped ? ["contacts", "signals", "accounts"] : ["contacts", "signals"];
  for (const stream of withTotals && tier === "full" ? others : []) {
    const filters = filtersOf(config.rowScope, stream);
    more.push(await ask(client, stream, { largest: accounts.page ?? largest, filters }, context));
  }
  const now = context.clock.now();
  await noteLists(config, [accounts, ...more]);
  return { accounts, more, tier, known: await noteTier(config, tier, now), waiting: await readWaiting(config, now) };
};

// Finds faults of a profile's configuration that would keep it from syncing. Sends no request, costs no credit.

/**
 * Checks address, token, key of hashed fields and data directory. Returns the token. Throws BASE_URL_MISSING, the errors
 * of the token, TOKEN_OVER_PLAIN_HTTP, CONFIG_INVALID and DATA_DIR_UNWRITABLE.
 */
export const checkProfileJob = async (config: Config, context: Omit<AccessContext, "token">): Promise<Secret> => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  assertWritable(config.dataDir);
  await resolveHashKey(config);
  const token = await resolveToken(config);
  // Making the client checks the address and the proxy settings.
  await clientOf(config, { ...context, token }).close();
  return token;
};
