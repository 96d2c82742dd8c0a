// Carries out the planned checks of `verify` one after the other, until none is left, the run ends, the service is down, or the credits
// left are needed to repair what was found.

import { COMPANY_LISTS, ORGANIZATION_LISTS, type StreamName } from "../../catalog/streams.ts";
import { sampleIds } from "../../warehouse/load/compare.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { stateKey } from "../plan/candidate.ts";
import { readScopeRows } from "../plan/mirror-view.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "../rows/loads.ts";
import type { SyncDeps } from "../run/state/run-input.ts";
import { checkPage } from "./check-lists.ts";
import { checkParts } from "./check-parts.ts";
import { checkRecord, checkSignalCounts } from "./check-records.ts";
import { type Check, hasParts, type VerifyFacts } from "./checks.ts";
import { recount, suspectsOf, walkCredits } from "./repair.ts";
import { afterCheck, type Finding, type Findings, isDown, NO_FINDINGS } from "./report.ts";
import type { VerifyRun } from "./verify-run.ts";

// Reads the facts about the mirror that a verification is planned with.

const LISTS: ReadonlySet<StreamName> = new Set([...ORGANIZATION_LISTS, ...COMPANY_LISTS]);

/** `sample`: number of records to draw per stream. */
export const readFacts = async (
  deps: SyncDeps,
  sample: number,
  states: readonly ScopeState[],
  pageSize: VerifyFacts["pageSize"],
): Promise<VerifyFacts> => {
  const { database } = deps.warehouse;
  const seed = Math.floor(deps.random() * 2 ** 32);
  const rows = await readScopeRows(database);
  const draw = (table: Parameters<typeof sampleIds>[1]) => sampleIds(database, table, seed, sample);
  return {
    lists: states.flatMap(({ stream, scope, walkedAt }) => {
      const whole = scope === "" || walkedAt !== null;
      const own = LISTS.has(stream) && !scope.startsWith(DETAIL_SCOPE) && !scope.startsWith(INPUT_SCOPE);
      return own && whole ? [{ stream, scope, rows: rows.get(stateKey(stream, scope)) ?? 0 }] : [];
    }),
    pageSize,
    contacts: await draw("contacts"),
    signals: await draw("signals"),
    companies: await draw("companies"),
    insights: await draw("account_insights"),
  };
};

/** Credits that this verification may still spend. */
const creditsLeft = (ledger: SyncDeps["ledger"]): number => {
  const { allowance, spent, reserved, ambiguous } = ledger.snapshot();
  return allowance === null ? Number.POSITIVE_INFINITY : allowance - spent - reserved - ambiguous;
};

const make = (run: VerifyRun, check: Check): Promise<Finding> => {
  switch (check.kind) {
    case "page":
      return checkPage(run, check);
    case "parts":
      return checkParts(run, check.stream, Math.floor(creditsLeft(run.deps.ledger) * check.share));
    case "signal-counts":
      return checkSignalCounts(run);
    case "detail":
    case "company":
    case "insight":
      return checkRecord(run, check);
    default:
      return check satisfies never;
  }
};

/** True when the credits left are just enough to walk the lists that differ. */
const mustRepairNow = (run: VerifyRun, { differences }: Findings, facts: VerifyFacts): boolean =>
  run.repair && creditsLeft(run.deps.ledger) <= walkCredits(differences, facts);

const announce = (run: VerifyRun, { reports }: Findings, stream: string, records: number): void => {
  const mine = reports.filter((report) => report.stream === stream);
  const credits = mine.reduce((sum, report) => sum + report.credits, 0);
  const count = { requests: mine.length, credits, rows: records, pagesDone: mine.length };
  run.deps.emit({ kind: "page", stream, ...count, pagesTotal: null, rowsTotal: null });
};

/** One more check, and what of the earlier differences its rows repaired. */
const withCheck = async (run: VerifyRun, before: Findings, check: Check): Promise<Findings | null> => {
  const credits = run.credits;
  const found = await make(run, check);
  if (found.status === "stopped") return null;
  const findings = afterCheck(before, check, found, run.credits - credits);
  announce(run, findings, check.stream, found.records);
  const isRepaired = run.repair && found.differences.length > 0;
  return isRepaired ? { ...findings, differences: await recount(run.deps, findings.differences) } : findings;
};

/** Lists whose counts differ are searched by parts, before any of them is walked. */
const searchParts = async (run: VerifyRun, before: Findings): Promise<Findings> => {
  let findings = before;
  const counted = before.reports.flatMap(({ check, stream }) => (check === "parts" ? [stream] : []));
  const streams = new Set(suspectsOf(before.differences).map(({ stream }) => stream));
  const open = [...streams].filter(hasParts).filter((stream) => !counted.includes(stream));
  for (const [at, stream] of open.entries()) {
    if (run.deps.signal.aborted) break;
    findings = (await withCheck(run, findings, { kind: "parts", stream, share: 1 / (open.length - at) })) ?? findings;
  }
  return findings;
};

export const makeChecks = async (run: VerifyRun, checks: readonly Check[], facts: VerifyFacts): Promise<Findings> => {
  const { signal } = run.deps;
  let findings = NO_FINDINGS;
  for (const check of checks) {
    if (signal.aborted || isDown(findings)) break;
    const next = await withCheck(run, findings, check);
    if (next === null) break;
    findings = next;
    if (signal.aborted || mustRepairNow(run, findings, facts)) break;
  }
  return run.repair ? searchParts(run, findings) : findings;
};
