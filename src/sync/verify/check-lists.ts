// Checks of `verify` on a list: requests one page and compares it with the mirror: number of rows, different rows, and rows that one side
// lacks.

import { type StreamName, type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import { mirroredBeside } from "../../warehouse/load/compare.ts";
import { isDescending } from "../list/coverage/coverage.ts";
import { initialForm, type ListForm } from "../list/form.ts";
import { acceptedGap } from "../list/state.ts";
import { stateKey } from "../plan/candidate.ts";
import { detailCall, listCall } from "../request/calls.ts";
import { guardDeletes, PROBES } from "../run/reconcile/delete-missing-rows.ts";
import type { Check } from "./checks.ts";
import { compareResponse, unprovenDifference, verdictOnRows, type Where } from "./judge-difference.ts";
import type { Difference, Finding } from "./report.ts";
import { type CheckResponse, sendCheck, type VerifyRun } from "./verify-run.ts";

export const NOTHING: Finding = { status: "skipped", records: 0, differences: [], note: null };
/** Most vanished records that a repair requests by id before deleting them; a 404 costs nothing. */
const MOST_CONFIRMED = 1000;
/** Most vanished records to name one by one; beyond them the count suffices. */
const MOST_NAMED = 1000;

export const failing = (reply: Exclude<CheckResponse, { kind: "answer" }>): Finding => {
  if (reply.kind === "stopped") return { ...NOTHING, status: "stopped" };
  if (reply.kind === "failed" && reply.mayHaveOwnForm === true) return { ...NOTHING, note: reply.note };
  return { ...NOTHING, status: "failed", note: reply.kind === "failed" ? reply.note : "HTTP 404" };
};

export const finding = (records: number, differences: readonly Difference[], note: string | null = null): Finding => ({
  status:
    differences.length === 0 ? "equal" : differences.some(({ verdict }) => verdict === "wrong") ? "differs" : "newer",
  records,
  differences,
  note,
});

/** The form in which the last sync read the list, without what comes along. */
export const formOf = ({ shapes, options }: VerifyRun, stream: StreamName): ListForm => ({
  ...(shapes.get(stream) ?? initialForm(options.largestPage)),
  include: false,
});

/** Mirrored rows that belong on this page and are not there; null when the page cannot show it. */
const unseen = async (
  run: VerifyRun,
  stream: StreamSpec,
  scope: string,
  page: { readonly number: number; readonly perPage: number; readonly ids: readonly string[]; readonly total: number },
): Promise<readonly string[] | null> => {
  const { database } = run.deps.warehouse;
  const { ids, total } = page;
  const company = stream.scope === "company" ? { company: scope } : {};
  if (new Set(ids).size >= total) return mirroredBeside(database, stream.table, ids, company);
  const [first, last] = [ids[0], ids.at(-1)];
  const inOrder = stream.walkOrder?.grows === true && isDescending(ids);
  if (!inOrder || first === undefined || last === undefined) return null;
  const [highest, lowest] = [BigInt(first), BigInt(last)];
  const between = [page.number * page.perPage >= total ? null : lowest, page.number === 1 ? null : highest] as const;
  return mirroredBeside(database, stream.table, ids, { between });
};

/**
 * Note on 404s of text: a sync deletes such rows only after several syncs (docs/decisions/unusable-answers.md), so a
 * repair deletes none.
 */
export const DOUBTFUL =
  "the service answered 404 with text in place of JSON, which a gateway may have sent: nothing was deleted";

/** Vanished records whose absence a 404 by id confirms. */
interface Confirmed {
  readonly ids: readonly string[];
  readonly note: string | null;
}

/** Requests vanished records by id. Returns the confirmed ones; null when one of them still exists. */
const confirm = async (run: VerifyRun, stream: StreamSpec, ids: readonly string[]): Promise<Confirmed | null> => {
  const { name } = stream;
  if (stream.detail === undefined) return { ids, note: null };
  const confirmed: string[] = [];
  let note: string | null = null;
  for (const id of ids.slice(0, run.repair ? MOST_CONFIRMED : PROBES)) {
    const reply = await sendCheck(run, { stream: name, scope: "", call: detailCall(stream, id, run.options) });
    if (reply.kind === "answer") {
      await run.commit(reply.requests, reply.loads);
      return null;
    }
    if (reply.kind !== "absent") break;
    if (reply.doubtful) {
      note = DOUBTFUL;
      break;
    }
    confirmed.push(id);
  }
  return { ids: confirmed, note };
};

/**
 * Mirrored records that the service no longer lists: names them, confirms them by id, and deletes them on request.
 */
export const vanished = async (
  run: VerifyRun,
  stream: StreamSpec,
  scope: string,
  ids: readonly string[],
): Promise<{ readonly differences: readonly Difference[]; readonly note: string | null }> => {
  if (ids.length === 0) return { differences: [], note: null };
  const { warehouse, clock } = run.deps;
  const where = { stream: stream.name, scope };
  const named = (gone: ReadonlySet<string>, verdict = verdictOnRows(run, where)) =>
    ids
      .slice(0, MOST_NAMED)
      .map((id) => unprovenDifference("vanished", where, { key: id, verdict, repaired: gone.has(id) }));
  const rows = await warehouse.countRows(stream.table);
  const refusal = guardDeletes(stream, { rows, missing: ids.length }, run.options);
  // What the guard does not believe is no later change of the service.
  if (refusal !== null) return { differences: named(new Set(), "wrong"), note: refusal.message };
  const confirmed = await confirm(run, stream, ids);
  if (confirmed === null) return { differences: [], note: "the list moved while it was read" };
  const { note } = confirmed;
  if (!run.repair || confirmed.ids.length === 0) return { differences: named(new Set()), note };
  await warehouse.deleteKeys({
    table: stream.table,
    ids: confirmed.ids,
    runId: run.runId,
    now: clock.now(),
    ...(stream.scope === "company" ? { company: scope } : {}),
  });
  return { differences: named(new Set(confirmed.ids)), note };
};

/** Compares the count of a list, and names rows that the page should hold and lacks. `before`: mirrored rows before a repair. */
const checkCount = async (
  run: VerifyRun,
  where: Where,
  page: Parameters<typeof unseen>[3],
  held: { readonly before: number; readonly now: () => Promise<number> },
): Promise<Awaited<ReturnType<typeof vanished>>> => {
  const stream = streamSpec(where.stream);
  const counted = page.total - (acceptedGap(run.states.get(stateKey(where.stream, where.scope))) ?? 0);
  const beside = await unseen(run, stream, where.scope, page);
  const gone = await vanished(run, stream, where.scope, beside ?? []);
  if (counted === held.before) return gone;
  if (stream.scope !== "company") run.moved.add(where.stream);
  const isWrong = gone.differences.some(({ verdict }) => verdict === "wrong");
  const count = unprovenDifference("count", where, {
    mirror: String(held.before),
    api: String(page.total),
    verdict: isWrong ? "wrong" : verdictOnRows(run, where),
    repaired: (await held.now()) === counted,
  });
  return { ...gone, differences: [...gone.differences, count] };
};

export const checkPage = async (run: VerifyRun, check: Extract<Check, { kind: "page" }>): Promise<Finding> => {
  const { scope, page } = check;
  const stream = streamSpec(check.stream);
  const where = { stream: check.stream, scope };
  const company = stream.scope === "company" ? scope : undefined;
  const form = formOf(run, check.stream);
  const read = { page, perPage: form.perPage, role: "cover" } as const;
  const reply = await sendCheck(run, {
    ...where,
    call: listCall(stream, scope, read, { kind: "walk" }, form, run.options),
  });
  const held = () => run.deps.warehouse.countRows(stream.table, company);
  if (reply.kind === "absent" && company !== undefined) {
    // The service does not know the company: the mirror should hold no row.
    const rows = await held();
    const count = { mirror: String(rows), api: "404", verdict: verdictOnRows(run, where) };
    return finding(0, rows === 0 ? [] : [unprovenDifference("count", where, count)]);
  }
  if (reply.kind !== "answer") return failing(reply);
  const { ids, absent, differences } = await compareResponse(run, where, reply);
  if (reply.loads.length === 0) return { ...NOTHING, note: "the answer holds no rows" };
  const total = reply.outcome.page.totalCount;
  if (total === null) return finding(ids.length, differences, "the service says no totalCount");
  if (company === undefined) run.totals.set(check.stream, total);
  const before = (await held()) - (run.repair ? absent.length : 0);
  const about = { number: page, perPage: form.perPage, ids, total };
  const counted = await checkCount(run, where, about, { before, now: held });
  return finding(ids.length, [...differences, ...counted.differences], counted.note);
};
