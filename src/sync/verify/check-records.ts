// Checks of `verify` on single records, and on the number of signals per type.
import { streamSpec } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { countByValue } from "../../warehouse/load/compare.ts";
import { companyCall, countsCall, detailCall, insightCall } from "../request/calls.ts";
import { DOUBTFUL, failing, finding, formOf } from "./check-lists.ts";
import type { Check } from "./checks.ts";
import { compareResponse, unprovenDifference, verdictOnDeleted, verdictOnRows } from "./judge-difference.ts";
import type { Difference, Finding } from "./report.ts";
import { type CheckRequest, sendCheck, type VerifyRun } from "./verify-run.ts";

const questionOf = (
  run: VerifyRun,
  check: Extract<Check, { kind: "detail" | "company" | "insight" }>,
): CheckRequest => {
  switch (check.kind) {
    case "detail":
      return { stream: check.stream, scope: "", call: detailCall(streamSpec(check.stream), check.id, run.options) };
    case "insight":
      return { stream: check.stream, scope: check.id, call: insightCall(check.id, run.options) };
    case "company": {
      const stream = streamSpec("companies");
      const call = companyCall({ kind: "id", value: check.id }, formOf(run, "companies"), stream, run.options);
      return { stream: "companies", scope: check.id, call };
    }
    default:
      return check satisfies never;
  }
};

export const checkRecord = async (
  run: VerifyRun,
  check: Extract<Check, { kind: "detail" | "company" | "insight" }>,
): Promise<Finding> => {
  const where = { stream: check.stream, scope: "" };
  const reply = await sendCheck(run, questionOf(run, check));
  if (reply.kind === "absent") {
    const { warehouse, clock } = run.deps;
    const table = streamSpec(check.stream).table;
    // A company unknown to the service may still be named by an account, so it stays.
    const repaired = run.repair && check.kind === "detail" && !reply.doubtful;
    if (repaired) await warehouse.deleteKeys({ table, ids: [check.id], runId: run.runId, now: clock.now() });
    const note = reply.doubtful ? DOUBTFUL : null;
    const verdict = await verdictOnDeleted(run, where, check.id);
    return finding(1, [unprovenDifference("vanished", where, { key: check.id, verdict, repaired })], note);
  }
  if (reply.kind !== "answer") return failing(reply);
  const { status } = reply.outcome.envelope;
  // An organization with a lowered tier finds no insight at all.
  const trusted = status !== "not_found" || (run.totals.get("accounts") ?? 0) > 0;
  const { ids, differences } = await compareResponse(run, where, reply, { repair: run.repair && trusted, alone: true });
  return finding(ids.length, differences);
};

/** Members of the counts that are not signal types (API.md, "Signal"). */
const NO_TYPE: ReadonlySet<string> = new Set(["all", "accounts"]);

/**
 * Where the mirror's signals per type (null: without one) and the service's counts differ. A documented type that the
 * service does not name has no signal.
 */
export const countDifferences = (
  mirrored: ReadonlyMap<string | null, number>,
  counts: JsonObject,
): readonly Difference[] => {
  const documented = tableSpec("signals").fields.find(({ name }) => name === "type")?.allowed ?? [];
  const types = new Set([...Object.keys(counts).filter((type) => !NO_TYPE.has(type)), ...documented.map(String)]);
  const all = [...mirrored.values()].reduce((sum, rows) => sum + rows, 0);
  const pairs = [
    ...[...types].map((type) => [`type=${type}`, mirrored.get(type) ?? 0, counts[type] ?? 0] as const),
    ...(counts.all === undefined ? [] : [["all", all, counts.all] as const]),
  ];
  return pairs
    .filter(([, mirror, api]) => String(mirror) !== String(api))
    .map(([field, mirror, api]) =>
      unprovenDifference(
        "count",
        { stream: "signals", scope: "" },
        { field, mirror: String(mirror), api: String(api) },
      ),
    );
};

/** Compares the number of signals per type, with one request for all types. */
export const checkSignalCounts = async (run: VerifyRun): Promise<Finding> => {
  const reply = await sendCheck(run, { stream: "signal_counts", scope: "", call: countsCall() });
  if (reply.kind !== "answer") return failing(reply);
  await run.commit(reply.requests, []);
  const counts = reply.outcome.data;
  if (!isJsonObject(counts)) return { ...finding(0, []), status: "failed", note: "the counts are no object" };
  const mirrored = await countByValue(run.deps.warehouse.database, "signals", "type");
  const found = countDifferences(mirrored, counts);
  const hasMoved = run.moved.has("signals") || found.some(({ field }) => field === "all");
  const verdict = hasMoved ? verdictOnRows(run, { stream: "signals", scope: "" }) : "wrong";
  return finding(
    0,
    found.map((one) => ({ ...one, verdict })),
  );
};
