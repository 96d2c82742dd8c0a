// Checks of lists: compares a page with the mirror for the number of rows, different rows, and rows that one side
// lacks.

import { type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import { compareLoad, mirroredBeside } from "../../warehouse/load/compare.ts";
import { acceptedGap } from "../../warehouse/record/checkpoint.ts";
import { isDescending } from "../list/coverage/coverage.ts";
import { initialShape, type ListShape, shapeAfterRefusal } from "../list/form.ts";
import { stateKey } from "../plan/candidate.ts";
import { detailCall, listCall, namesLightFields, namesUnknownFields } from "../request/calls.ts";
import { guardDeletes, PROBES } from "../run/settle/delete-guard.ts";
import type { Check } from "./checks.ts";
import { cameOrWent, differs, judged, type Where } from "./newer.ts";
import type { Difference } from "./report.ts";
import { ask, type Question, type Reply, type VerifyRun } from "./session.ts";

/** Result of one check. */
export interface Finding {
  readonly status: "equal" | "newer" | "differs" | "skipped" | "failed" | "stopped";
  readonly records: number;
  readonly differences: readonly Difference[];
  readonly note: string | null;
}

export const NOTHING: Finding = { status: "skipped", records: 0, differences: [], note: null };
/** Request forms to try before a list counts as refused; a refusal costs nothing. */
const MOST_FORMS = 40;
/** Most vanished records that a repair requests by id before deleting them; a 404 costs nothing. */
const MOST_CONFIRMED = 1000;
/** Most vanished records to name one by one; beyond them the count suffices. */
const MOST_NAMED = 1000;

export const failing = (reply: Exclude<Reply, { kind: "answer" }>): Finding => {
  if (reply.kind === "stopped") return { ...NOTHING, status: "stopped" };
  if (reply.kind === "failed") return { ...NOTHING, status: "failed", note: reply.error.message };
  return { ...NOTHING, status: "failed", note: reply.excerpt };
};

export const finding = (records: number, differences: readonly Difference[], note: string | null = null): Finding => ({
  status:
    differences.length === 0 ? "equal" : differences.some(({ verdict }) => verdict === "wrong") ? "differs" : "newer",
  records,
  differences,
  note,
});

/** Requests a page in the list's known form, and in the next form if that is refused. */
const askPage = async (run: VerifyRun, question: (shape: ListShape) => Question) => {
  const stream = question(initialShape(1)).stream;
  let shape = { ...(run.shapes.get(stream) ?? initialShape(run.options.largestPage)), include: false };
  for (let form = 1; ; form++) {
    const asked = question(shape);
    const reply = await ask(run, asked);
    if (reply.kind !== "refused") return { reply, shape };
    await run.commit(reply.requests, []);
    const { query } = asked.call;
    const refused = {
      perPage: shape.perPage,
      sort: query.sortBy !== undefined,
      include: false,
      content: query.onlyWithFields !== undefined,
      names: namesLightFields(streamSpec(stream), query),
      unknown: namesUnknownFields(streamSpec(stream), query),
      filters: false,
    };
    const next = shapeAfterRefusal(shape, refused, reply.excerpt, {
      largest: run.options.largestPage,
      elsewhere: null,
    });
    if (next === null || form >= MOST_FORMS) return { reply, shape };
    shape = next;
  }
};

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
    const reply = await ask(run, { stream: name, scope: "", call: detailCall(stream, id, run.options) });
    if (reply.kind === "answer") {
      await run.commit(reply.requests, reply.loads);
      return null;
    }
    if (reply.kind !== "absent") break;
    await run.commit(reply.requests, []);
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
  const named = (gone: ReadonlySet<string>, verdict = cameOrWent(run, where)) =>
    ids.slice(0, MOST_NAMED).map((id) => differs("vanished", where, { key: id, verdict, repaired: gone.has(id) }));
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

/** A page whose company the service does not know: the mirror should hold no row. */
const absentPage = async (run: VerifyRun, where: Where, held: number): Promise<Finding> => {
  const count = { mirror: String(held), api: "404", verdict: cameOrWent(run, where) };
  return finding(0, held === 0 ? [] : [differs("count", where, count)]);
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
  const count = differs("count", where, {
    mirror: String(held.before),
    api: String(page.total),
    verdict: isWrong ? "wrong" : cameOrWent(run, where),
    repaired: (await held.now()) === counted,
  });
  return { ...gone, differences: [...gone.differences, count] };
};

/** Compares a page of a list with the mirror. */
export const checkPage = async (run: VerifyRun, check: Extract<Check, { kind: "page" }>): Promise<Finding> => {
  const { scope, page } = check;
  const stream = streamSpec(check.stream);
  const where = { stream: check.stream, scope };
  const company = stream.scope === "company" ? scope : undefined;
  const { warehouse } = run.deps;
  const { reply, shape } = await askPage(run, (form) => ({
    ...where,
    call: listCall(stream, scope, { page, perPage: form.perPage, role: "cover" }, { kind: "walk" }, form, run.options),
  }));
  const held = () => warehouse.countRows(stream.table, company);
  if (reply.kind === "absent" && company !== undefined) {
    await run.commit(reply.requests, []);
    return absentPage(run, where, await held());
  }
  if (reply.kind !== "answer") return failing(reply);
  const [load] = reply.loads;
  const total = reply.outcome.page.totalCount;
  if (load === undefined) return { ...NOTHING, note: "the answer holds no rows" };
  const { ids, ...compared } = await compareLoad(warehouse.database, load, warehouse.strictness);
  const records = await judged(run, where, load, compared);
  await run.commit(reply.requests, run.repair && records.length > 0 ? reply.loads : []);
  if (total === null) return finding(ids.length, records, "the service says no totalCount");
  if (company === undefined) run.totals.set(check.stream, total);
  const before = (await held()) - (run.repair ? compared.absent.length : 0);
  const counted = await checkCount(
    run,
    where,
    { number: page, perPage: shape.perPage, ids, total },
    { before, now: held },
  );
  return finding(ids.length, [...records, ...counted.differences], counted.note);
};
