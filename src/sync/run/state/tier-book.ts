// A run's knowledge of the organization's tier (API.md, "Access tiers"), which responses change.
import { ORGANIZATION_LISTS, streamSpec } from "../../../catalog/streams.ts";
import { accessOf, isNews, probeAt, type TierAccess, type TierEvidence } from "../../../core/state/tier.ts";
import type { PageRead } from "../../list/coverage/contract.ts";
import { readingOf } from "../../list/state.ts";
import { stateKey } from "../../plan/candidate.ts";
import { rememberTier } from "../../plan/remembered.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncRun } from "./run-state.ts";

/** Routes of the Full Access tier that may be asked now. */
export const accessIn = ({ tier, work, options, deps }: SyncRun): TierAccess => {
  const access = accessOf(tier, deps.clock.now(), options.allowMassDelete);
  const accounts = stateKey("accounts", "");
  // An account list that failed, or showed nothing, must not hold up the others.
  const list = work.list(accounts);
  const asked = work.hasTaken(accounts) && (list === undefined || readingOf(list.state)?.pages !== 0);
  return access === "unknown" && asked ? "open" : access;
};

const evidenceOf = (run: SyncRun, list: OpenList, read: PageRead): TierEvidence | null => {
  const { name, tier } = list.stream;
  if (tier !== "full") return null;
  if (read.rows > 0) return { shows: "full", because: `${name} were returned` };
  // An organization with Full Access has accounts; it may have no contacts and no signals.
  const isEmpty = name === "accounts" && !run.forms.isFiltered(name) && read.page === 1 && (read.total ?? 0) === 0;
  const held = ORGANIZATION_LISTS.some((list) => run.work.rowsOf(stateKey(list, "")) > 0);
  return isEmpty && !run.fullAccess ? { shows: "public", because: "the account list is empty", held } : null;
};

/** Says which streams are not asked for without Full Access, and that nothing is followed. */
export const noteTier = ({ tier, options, deps }: SyncRun): void => {
  const left = options.streams.filter((name) => streamSpec(name).tier === "full");
  if (tier?.tier !== "public" || left.length === 0 || options.allowMassDelete) return;
  const next = new Date(probeAt(tier)).toISOString().slice(0, 10);
  const text =
    `No Full Access since ${new Date(tier.since).toISOString().slice(0, 10)} (${tier.evidence}): ` +
    `${left.join(", ")} are asked for again on ${next}; \`duckmirror check\` asks now.`;
  deps.emit({ kind: "note", level: "info", text });
  if (options.companies.length > 0) return;
  const advice = "No company is followed, so nothing is mirrored: `duckmirror follow INPUT` adds one.";
  deps.emit({ kind: "note", level: "warn", text: advice });
};

/** Takes from a committed page of a list what it shows about the tier. */
export const learnFrom = async (run: SyncRun, list: OpenList, read: PageRead): Promise<void> => {
  const { clock, tier, warehouse } = run.deps;
  const before = run.tier?.tier;
  const evidence = evidenceOf(run, list, read);
  if (evidence !== null && isNews(run.tier, evidence, clock.now())) {
    run.tier = await tier.learn(evidence);
    await rememberTier(warehouse, run.tier, clock.now());
    if (run.tier?.tier !== before) noteTier(run);
  }
  // Work that waited for the account list's first page becomes due.
  if (run.tier?.tier !== before || (before === undefined && list.stream.name === "accounts")) run.work.planAgain();
};
