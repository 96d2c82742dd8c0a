// After a refusal (400, or of heavy fields): the same request in another form, or the end of its task.
import { causeOf } from "../../api/outcome-text.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ReadRequest } from "../list/coverage/contract.ts";
import {
  embedsOf,
  initialShape,
  type ListShape,
  type RefusedRequest,
  shapeAfterRefusal,
  withFixedPages,
} from "../list/form.ts";
import { pageSizeOf } from "../list/ways/page-size.ts";
import { inPagesOf } from "../list/ways/progress.ts";
import { namesLightFields, namesUnknownFields } from "../request/calls.ts";
import { type ChangeReading, withoutChanges } from "../request/changes-refused.ts";
import type { FetchResult } from "../request/fetcher.ts";
import { filtersOf } from "../rows/row-scope.ts";
import { reshape } from "../task/change-course.ts";
import { isOneOfMany } from "../task/form-trials.ts";
import { landed, type ScopeTask } from "../task/scope-task.ts";
import { type WantedCall, whereOf } from "../task/wanted-call.ts";
import { beginAnew } from "./begin-anew.ts";
import { formOf, type SyncRun, settledLists, shapeOf } from "./state/run-state.ts";
import { failTask } from "./state/task-ends.ts";
import { advance } from "./task-steps.ts";

/**
 * Refusals of a list's later pages after which no other form is tried. The service accepted the form for the first page, so it
 * probably returns no page behind some row.
 */
const MOST_LATER_REFUSALS = 1;

/** What the refused request may send that only a reading of changes sends. */
const readingOf = ({ progress, stream, shapeAtRefusal }: ScopeTask): ChangeReading => {
  const filtered = progress?.kind === "filter" && !progress.only && !progress.counting ? stream.filter : undefined;
  return { ordered: progress?.kind === "watermark", filter: filtered?.param ?? null, accepted: shapeAtRefusal };
};

/** True while a list is read in the other order, in the form in which it was returned before. */
const isFromOtherEnd = ({ progress }: ScopeTask): boolean => progress?.kind === "walk" && progress.fromHead !== null;

type Refusal = Extract<FetchResult, { kind: "adjust" }>["outcome"];

/** A refusal of the heavy fields that the request names: they are not in the organization's plan. */
const forbidsContent = ({ status }: Refusal): boolean => status === 402 || status === 403;

/** The form to try after a refusal; null: none is left. */
const nextShape = (
  run: SyncRun,
  task: ScopeTask,
  refused: RefusedRequest & { readonly included: readonly string[] },
  outcome: Refusal,
): ListShape | null => {
  const shape = formOf(run, task);
  if (forbidsContent(outcome)) return { ...shape, content: false, contentForbidden: true };
  const { excerpt } = outcome;
  const sorts = task.progress?.kind === "watermark" ? shape.changeOrder : shape.sort;
  const embeds = embedsOf(task.stream, shape).map((embed) => embed.include);
  const outdated =
    refused.perPage > shape.perPage ||
    (shape.fixed && task.progress !== null && refused.perPage > 0 && refused.perPage < pageSizeOf(task.progress)) ||
    (refused.sort && !sorts) ||
    (refused.unknown === true && shape.unknown === null) ||
    refused.included.some((include) => !embeds.includes(include));
  if (outdated) return shape;
  if (refused.later === true) task.laterRefusals += 1;
  if (task.laterRefusals > MOST_LATER_REFUSALS) return null;
  const elsewhere = settledLists(run).map((other) => other.perPage);
  return (
    withFixedPages(shape, refused, excerpt) ??
    withoutChanges(shape, refused, excerpt, readingOf(task)) ??
    shapeAfterRefusal(shape, refused, excerpt, {
      largest: run.options.largestPage,
      elsewhere: elsewhere.length === 0 ? null : Math.max(...elsewhere),
    })
  );
};

/** Gives all lists of the stream this form, and lets those go on that can. */
export const useShape = async (run: SyncRun, { stream }: ScopeTask, shape: ListShape): Promise<void> => {
  run.shapes.set(stream.name, shape);
  for (const other of [...run.active.values()].filter((active) => active.stream.name === stream.name)) {
    reshape(other, shape);
    await advance(run, other);
  }
};

/**
 * True for one list or record of many that is refused although others may be returned: it tries other forms by itself. As long
 * as no list of a stream was returned, one list at a time finds out the form for all.
 */
const triesForItself = (run: SyncRun, task: ScopeTask, { later }: { readonly later: boolean }): boolean =>
  !later && isOneOfMany(task) && (task.progress === null || shapeOf(run, task.stream.name).settled);

/** Gives the other lists of the stream, of which no page is on its way, the stream's form. None is sent in another one meanwhile. */
export const shareForm = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  const { name } = task.stream;
  const isIdle = (other: ScopeTask) => other !== task && other.inFlight.length === other.ready.length;
  const others = [...run.active.values()].filter((each) => each.stream.name === name && isIdle(each));
  for (const other of others) reshape(other, shapeOf(run, name));
  await Promise.all(others.map((other) => advance(run, other)));
};

/**
 * Fails a task that was refused in every form. What was given up was not at fault: the next sync begins with the form of
 * before, and the other lists of the stream go on in theirs.
 */
const failInEveryForm = async (run: SyncRun, task: ScopeTask, error: DuckmirrorError, later: boolean) => {
  const before = task.shapeAtRefusal ?? initialShape(run.options.largestPage);
  const isOwn = triesForItself(run, task, { later });
  if (!later) run.trials.giveUp(task);
  if (later && task.progress !== null) task.progress = inPagesOf(task.progress, before.perPage);
  else reshape(task, isOwn ? shapeOf(run, task.stream.name) : before);
  if (!isOwn) run.shapes.set(task.stream.name, before);
  const sharing = isOwn ? undefined : shareForm(run, task);
  await failTask(run, task, error, { resumable: true });
  await sharing;
};

/** After a refusal: tries the next list shape, or abandons the scope. */
export const askDifferently = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest | null,
  wanted: WantedCall,
  outcome: Refusal,
): Promise<void> => {
  const { query } = wanted.call;
  const refused = {
    perPage: request?.perPage ?? 0,
    sort: query.sortBy !== undefined,
    include: query.include !== undefined,
    included: query.include?.split(",") ?? [],
    content: query.onlyWithFields !== undefined || query.groupBy !== undefined || query.window !== undefined,
    names: namesLightFields(task.stream, query),
    unknown: namesUnknownFields(task.stream, query),
    filters: shapeOf(run, task.stream.name).filters && filtersOf(run.options.rowScope, task.stream.name) !== null,
    later: request !== null && (request.page > 1 || isFromOtherEnd(task)) && shapeOf(run, task.stream.name).settled,
  } satisfies RefusedRequest;
  const { name } = task.stream;
  if (request !== null) landed(task, request);
  const shape = formOf(run, task);
  if (request !== null && (request.page > 1 || shape.settled)) task.shapeAtRefusal ??= shape;
  const found = nextShape(run, task, refused, outcome);
  const isFirst = isOneOfMany(task) && !refused.later;
  const next = isFirst && found !== shape && !run.trials.mayTry(task) ? null : found;
  if (next === null) {
    const context = { endpoint: whereOf(task, wanted, request), detail: causeOf(outcome) };
    const error = new DuckmirrorError("REQUEST_FAILED", context);
    if (request !== null && (await beginAnew(run, task, request, error))) return;
    return failInEveryForm(run, task, error, refused.later);
  }
  if (forbidsContent(outcome) && shape.content) {
    const text = `${name}: asked for again without the fields that the setting content names, they were refused (${outcome.status})`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  task.asked = false;
  if (!triesForItself(run, task, refused)) return useShape(run, task, next);
  if (next !== shape) run.trials.try(task, next);
  reshape(task, next);
  await advance(run, task);
};
