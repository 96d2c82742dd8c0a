// Jobs follow, unfollow and following: change the list of followed companies, and report what each input resolved to. Send nothing; the
// next sync resolves new inputs.

import { existsSync } from "node:fs";
import { z } from "zod";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, isCode } from "../src/core/errors.ts";
import {
  follow,
  inputProblem,
  noteErased,
  readFollowing,
  unfollow,
  withFollowing,
} from "../src/core/state/following.ts";
import { newRunId } from "../src/core/text/run-id.ts";
import { isoTimeOrNull } from "../src/core/time.ts";
import { eraseUnfollowed } from "../src/sync/run/reconcile/remove-company.ts";
import { sqlText } from "../src/warehouse/duckdb/sql-files.ts";
import { isUnused } from "../src/warehouse/file/empty-mirror.ts";
import type { Warehouse } from "../src/warehouse/file/warehouse.ts";
import { readSnapshot } from "../src/warehouse/read/mirror-reader.ts";
import { homeOf, withWarehouse } from "./home.ts";

// Reads from the published snapshot what followed inputs resolved to.

const row = z
  .object({
    input: z.string(),
    company_id: z.string().nullable(),
    status: z.string().nullable(),
    resolved_at: z.number().nullable(),
    error: z.string().nullable(),
  })
  .transform(({ company_id: companyId, resolved_at: resolvedAt, ...rest }) => ({ ...rest, companyId, resolvedAt }));
export type ResolvedInput = z.output<typeof row>;

/** By input; none without a snapshot. Throws the errors of opening it. */
export const readResolved = async (
  snapshot: string,
  inputs: readonly string[],
): Promise<ReadonlyMap<string, ResolvedInput>> => {
  if (!existsSync(snapshot)) return new Map();
  const rows = await readSnapshot(snapshot, ({ database }) =>
    database.query(sqlText("status/following.sql"), [JSON.stringify(inputs)], row),
  );
  return new Map(rows.map((found) => [found.input, found]));
};

/** One followed input. Times are ISO 8601 in UTC. */
export interface FollowedInput {
  readonly input: string;
  readonly company_id: string | null;
  /** `pending` until the next sync has asked for it; `not_found`: the service knows no company for it. */
  readonly status: "pending" | "resolved" | "not_found";
  /** When it was followed; null: it is in the configuration. */
  readonly since: string | null;
  readonly resolved_at: string | null;
  /** Why the last attempt to resolve it failed, or why none is made. */
  readonly error?: string;
}

/** Result of `follow`. */
export interface Followed {
  readonly added: readonly string[];
  /** Inputs that were followed before. */
  readonly known: readonly string[];
}

/** Result of `unfollow`. */
export interface Unfollowed {
  readonly removed: readonly string[];
  /** Number of rows erased now; null: none were to be erased, or the next sync erases them. */
  readonly erased: number | null;
}

const NOT_FOUND = "the service knows no company for this input; it is asked again weekly";
const ACCOUNTS_ONLY = "not asked for: the setting `scope` has `companies: {accounts_only: true}`";

const statusOf = (found: { readonly companyId: string | null; readonly status: string | null } | undefined) => {
  if (found === undefined || found.status === null) return "pending";
  return found.companyId === null ? "not_found" : "resolved";
};

/** True when syncs read companies of accounts only, so that no followed input is resolved. */
export const readsAccountsOnly = ({ rowScope }: Config): boolean => rowScope.companies?.accounts_only === true;

/** Why an input has no company, or lost it. */
const problemOf = (
  config: Config,
  status: FollowedInput["status"],
  found: { readonly error: string | null } | undefined,
): string | null => {
  if (status === "pending" && readsAccountsOnly(config)) return ACCOUNTS_ONLY;
  return found?.error ?? (status === "not_found" ? NOT_FOUND : null);
};

/** Every followed input, of the configuration and of `follow`, in that order. Throws STATE_FILE_DAMAGED, QUERY_FAILED. */
export const followingJob = async (config: Config): Promise<readonly FollowedInput[]> => {
  const { following } = await readFollowing(config.dataDir);
  const since = new Map(following.map((followed) => [followed.input, followed.since]));
  const { companies } = await withFollowing(config);
  const resolved = await readResolved(snapshotPath(config.dataDir), companies);
  return companies.map((input) => {
    const found = resolved.get(input);
    const status = statusOf(found);
    const error = problemOf(config, status, found);
    return {
      input,
      company_id: found?.companyId ?? null,
      status,
      since: isoTimeOrNull(since.get(input) ?? null),
      resolved_at: isoTimeOrNull(found?.resolvedAt ?? null),
      ...(error === null ? {} : { error }),
    };
  });
};

const cleaned = (inputs: readonly string[]): readonly string[] => {
  const trimmed = inputs.map((input) => input.trim());
  const problem = trimmed.map(inputProblem).find((found) => found !== null);
  if (problem !== undefined) throw new DuckmirrorError("USAGE", { detail: problem });
  return [...new Set(trimmed)];
};

/** Follows inputs from the next sync on. Throws USAGE for a text that no path can carry, and CONFIG_INVALID. */
export const followJob = async (config: Config, inputs: readonly string[], clock: Clock): Promise<Followed> => {
  const wanted = cleaned(inputs);
  const fresh = wanted.filter((input) => !config.companies.includes(input));
  const added = await follow(config.dataDir, fresh, clock.now());
  return { added, known: wanted.filter((input) => !added.includes(input)) };
};

/** Erases what `unfollow --erase` asked for. Returns the number of deleted rows. */
export const eraseAsked = async (config: Config, warehouse: Warehouse, clock: Clock): Promise<number> => {
  const { erase } = await readFollowing(config.dataDir);
  if (erase.length === 0) return 0;
  const { companies: followed } = await withFollowing(config);
  const now = clock.now();
  const deleted = await eraseUnfollowed(warehouse, { erase, followed }, { runId: newRunId(now, () => 0), now });
  await noteErased(config.dataDir, erase);
  return deleted;
};

/**
 * Follows inputs no more. With `erase`, their companies' rows go as soon as no sync runs. Throws USAGE for an input that
 * is not followed or is in the configuration, and CONFIG_INVALID.
 */
export const unfollowJob = async (
  config: Config,
  inputs: readonly string[],
  { erase, clock }: { readonly erase: boolean; readonly clock: Clock },
): Promise<Unfollowed> => {
  const removed = cleaned(inputs);
  await unfollow(config.dataDir, removed, { erase, configured: config.companies });
  if (!erase || isUnused(config.dataDir)) return { removed, erased: null };
  const { dataDir, memory, audit } = config;
  const home = homeOf(config, clock);
  try {
    const auditRetentionDays = audit.retentionDays;
    // Without checks: one that fails would leave readers what was to go.
    return await withWarehouse({ dataDir, clock, memory, home, auditRetentionDays }, async (warehouse) => {
      const erased = await eraseAsked(config, warehouse, clock);
      await warehouse.publish();
      return { removed, erased };
    });
  } catch (error) {
    if (isCode(error, "WRITER_BUSY")) return { removed, erased: null };
    throw error;
  }
};
