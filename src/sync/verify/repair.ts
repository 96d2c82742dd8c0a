// Repairs what verify found by walking the lists: counts that differ, and rows that vanished. An ordinary sync does the walks, with all its
// guards, within the remaining credits; then the counts are taken again. Also estimates what the repair would cost.
import { isStreamName, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { withHint } from "../../core/errors.ts";
import { countByValue } from "../../warehouse/load/compare.ts";
import { stateKey } from "../plan/candidate.ts";
import { runSync } from "../run/run-sync.ts";
import type { SyncDeps, SyncOptions } from "../run/state/run-input.ts";
import type { VerifyFacts } from "./checks.ts";
import type { Difference } from "./report.ts";

const isOpen = ({ repaired, kind }: Difference): boolean => !repaired && (kind === "count" || kind === "vanished");

export const suspectsOf = (differences: readonly Difference[]) =>
  differences.filter(isOpen).flatMap(({ stream, scope }) => {
    return isStreamName(stream) && streamSpec(stream).list !== undefined ? [{ stream, scope }] : [];
  });

const streamsOf = (
  suspects: ReturnType<typeof suspectsOf>,
  kind: "organization" | "company",
): readonly StreamName[] => [
  ...new Set(suspects.map(({ stream }) => stream).filter((stream) => streamSpec(stream).scope === kind)),
];

/** Marks differing company lists as never walked, so that a sync walks them and no others. */
const markCompanies = async (deps: SyncDeps, suspects: ReturnType<typeof suspectsOf>, runId: string): Promise<void> => {
  const wanted = new Set(suspects.map(({ stream, scope }) => stateKey(stream, scope)));
  const states = (await deps.warehouse.scopeStates()).filter(
    ({ stream, scope, status }) => status !== "walking" && wanted.has(stateKey(stream, scope)),
  );
  const scopes = states.map((state) => ({ ...state, walkedAt: null }));
  await deps.warehouse.commit({ runId, loads: [], requests: [], scopes, quota: null });
};

/** Present count in the mirror of a counted list or value. */
const countNow = async (deps: SyncDeps, { stream, scope, field }: Difference): Promise<number | null> => {
  if (!isStreamName(stream)) return null;
  const { table, scope: kind } = streamSpec(stream);
  if (field === null || field === "all") return deps.warehouse.countRows(table, kind === "company" ? scope : undefined);
  const [name = "", value = ""] = field.split("=");
  const column = tableSpec(table).fields.find((known) => known.name === name)?.column;
  // A range of days was counted when its rows were read.
  if (column === undefined || value.includes("..")) return null;
  return (await countByValue(deps.warehouse.database, table, column)).get(value) ?? 0;
};

/** Marks counts as repaired that agree now, after rows were loaded or deleted. */
export const recount = async (deps: SyncDeps, differences: readonly Difference[]): Promise<readonly Difference[]> => {
  const counted: Difference[] = [];
  for (const difference of differences) {
    const open = difference.kind === "count" && !difference.repaired;
    const agrees = open && String(await countNow(deps, difference)) === difference.api;
    counted.push(agrees ? { ...difference, repaired: true } : difference);
  }
  return counted;
};

export const walkCredits = (
  differences: readonly Difference[],
  { lists, pageSize }: Pick<VerifyFacts, "lists" | "pageSize">,
): number => {
  const suspects = new Map(suspectsOf(differences).map((one) => [stateKey(one.stream, one.scope), one]));
  return [...suspects.values()].reduce((sum, { stream, scope }) => {
    const rows = lists.find((list) => list.stream === stream && list.scope === scope)?.rows ?? 1;
    const pages = Math.max(1, Math.ceil(rows / pageSize(stream)));
    // Pages of these walks share rows, and a changing list needs another read.
    return sum + Math.ceil(pages * 1.4) + 2;
  }, 0);
};

/** Walks the lists whose counts differ. `runId`: the verification. `credits`: spent by the walks. Rejects only on faults. */
export const repairCounts = async (
  options: SyncOptions,
  deps: SyncDeps,
  runId: string,
  found: readonly Difference[],
): Promise<{ readonly differences: readonly Difference[]; readonly credits: number }> => {
  const differences = await recount(deps, found);
  const suspects = suspectsOf(differences);
  const own = streamsOf(suspects, "organization");
  const company = streamsOf(suspects, "company");
  const startedAt = deps.clock.now();
  let credits = 0;
  const sync = async (streams: readonly StreamName[], more: Partial<SyncOptions>) => {
    if (streams.length === 0) return;
    const { report, error } = await runSync({ ...options, ...more, streams, named: true }, deps);
    credits += report.credits.spent;
    if (error !== null) deps.emit({ kind: "note", level: "warn", text: withHint(error) });
  };
  await sync(own, { full: true });
  if (company.length > 0) await markCompanies(deps, suspects, runId);
  // Other lists that are due by age are not part of this repair.
  const ageless = Object.fromEntries(company.map((stream) => [stream, Number.MAX_SAFE_INTEGER]));
  await sync(company, { full: false, maxAgeMs: { ...options.maxAgeMs, ...ageless } });

  const walked = new Set(
    (await deps.warehouse.scopeStates())
      .filter(({ walkedAt, status }) => status === "idle" && walkedAt !== null && walkedAt >= startedAt)
      .map(({ stream, scope }) => stateKey(stream, scope)),
  );
  return {
    credits,
    differences: differences.map((difference) =>
      isOpen(difference) && walked.has(stateKey(difference.stream, difference.scope))
        ? { ...difference, repaired: true }
        : difference,
    ),
  };
};
