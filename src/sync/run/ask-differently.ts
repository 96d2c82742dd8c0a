// After a refusal (400): the same request in another form, or the end of its task.
import { causeOf } from "../../api/retry-policy.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { namesLightFields, namesUnknownFields } from "../request/calls.ts";
import { type ChangeReading, withoutChanges } from "../request/changes-refused.ts";
import type { FetchResult } from "../request/fetcher.ts";
import { embedsOf, type RefusedRequest, shapeAfterRefusal } from "../request/list-shape.ts";
import { filtersOf } from "../rows/row-scope.ts";
import type { ReadRequest } from "../strategies/contract.ts";
import { reshape } from "../task/change-course.ts";
import { landed, type ScopeTask } from "../task/scope-task.ts";
import { type WantedCall, whereOf } from "../task/wanted-call.ts";
import { beginAnew } from "./begin-anew.ts";
import { type SyncRun, settledLists, shapeOf } from "./state/run-state.ts";
import { failTask } from "./state/task-ends.ts";
import { advance } from "./task-steps.ts";

/** What the refused request may send that only a reading of changes sends. */
const readingOf = ({ progress, stream, shapeAtRefusal }: ScopeTask): ChangeReading => {
  const filtered = progress?.kind === "filter" && !progress.only ? stream.filter : undefined;
  return { ordered: progress?.kind === "watermark", filter: filtered?.param ?? null, accepted: shapeAtRefusal };
};

/** After a refusal: tries the next list shape, or abandons the scope. */
export const askDifferently = async (
  run: SyncRun,
  task: ScopeTask,
  request: ReadRequest | null,
  wanted: WantedCall,
  outcome: Extract<FetchResult, { kind: "adjust" }>["outcome"],
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
    later: request !== null && request.page > 1 && shapeOf(run, task.stream.name).settled,
  } satisfies RefusedRequest;
  const { name } = task.stream;
  if (request !== null) landed(task, request);
  const shape = shapeOf(run, name);
  if (request !== null && (request.page > 1 || shape.settled)) task.shapeAtRefusal ??= shape;
  const elsewhere = settledLists(run).map((other) => other.perPage);
  const changes = task.progress?.kind === "watermark";
  const sorts = changes ? shape.changeOrder : shape.sort;
  const embeds = embedsOf(task.stream, shape).map((embed) => embed.include);
  const outdated =
    refused.perPage > shape.perPage ||
    (refused.sort && !sorts) ||
    (refused.unknown && shape.unknown === null) ||
    refused.included.some((include) => !embeds.includes(include));
  const next = outdated
    ? shape
    : (withoutChanges(shape, refused, outcome.excerpt, readingOf(task)) ??
      shapeAfterRefusal(shape, refused, outcome.excerpt, {
        largest: run.options.largestPage,
        elsewhere: elsewhere.length === 0 ? null : Math.max(...elsewhere),
      }));
  if (next === null) {
    const context = { endpoint: whereOf(task, wanted, request), detail: causeOf(outcome) };
    const error = new DuckmirrorError("REQUEST_FAILED", context);
    if (request !== null && (await beginAnew(run, task, request, error))) return;
    return failTask(run, task, error, { resumable: true });
  }
  run.shapes.set(name, next);
  task.asked = false;
  for (const other of [...run.active.values()].filter((candidate) => candidate.stream.name === name)) {
    reshape(other, next);
    await advance(run, other);
  }
};
