// Builds a task's next request, and the detail that the archive stores for loading its response later.
import { z } from "zod";
import type { ApiCall } from "../../api/outcome.ts";
import { isStreamName, streamSpec } from "../../catalog/streams.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import { WORK, type Work } from "../../warehouse/record/checkpoint.ts";
import type { ReadRequest } from "../list/coverage/contract.ts";
import { embedsOf, type ListShape } from "../list/form.ts";
import { breakdownOf, LIMITS_SCOPE, type UsageChoice } from "../plan/usage-scopes.ts";
import {
  type CallOptions,
  companyCall,
  contentNames,
  countsCall,
  detailCall,
  insightCall,
  limitsCall,
  listCall,
  usageCall,
} from "../request/calls.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "../rows/loads.ts";
import { orderOf, type ScopeTask, workOfTask } from "./scope-task.ts";

const readRequest = z.object({ page: z.number(), perPage: z.number(), role: z.enum(["cover", "bridge", "head"]) });

/**
 * Detail stored with an archived response: the read that it answers (null for a single request), whether pages of its
 * walk overlap (null when it belongs to no walk), fields that the list was known to return (`granted`), heavy
 * fields that are taken from records that come along (null: all), and what the request was made for.
 */
export const archivedDetail = z.object({
  read: readRequest.nullable(),
  overlap: z.boolean().nullable(),
  granted: z.array(z.string()).readonly().default([]),
  along: z.array(z.string()).readonly().nullable().default(null),
  work: z.enum(WORK).nullable().default(null),
});

export interface WantedCall {
  readonly call: ApiCall;
  readonly work: Work;
  readonly detail: z.infer<typeof archivedDetail>;
}

/** What shapes a task's requests: the configuration, and lists whose records may come along with others. */
type WantedOptions = CallOptions & UsageChoice & { readonly embeddable: ReadonlySet<string> };

const singleCall = (task: ScopeTask, shape: ListShape, options: WantedOptions): ApiCall => {
  const { candidate, stream } = task;
  const { scope, mode } = candidate;
  if (mode === "detail") return detailCall(stream, scope.slice(DETAIL_SCOPE.length), options);
  if (mode === "resolve") {
    return companyCall({ kind: "input", value: scope.slice(INPUT_SCOPE.length) }, shape, stream, options);
  }
  switch (stream.strategy) {
    case "capture":
      return countsCall();
    case "log":
      return scope === LIMITS_SCOPE ? limitsCall(options) : usageCall(shape, breakdownOf(scope, options), options);
    case "on-change": {
      if (stream.scope === "company") return companyCall({ kind: "id", value: scope }, shape, stream, options);
      const along = embedsOf(stream, shape).filter(({ table }) => options.embeddable.has(table));
      return insightCall(scope, options, along);
    }
    default:
      throw new TypeError(`${stream.name} is read by pages`);
  }
};

/** The rows that a task asks for: while its list widens, first the added ones alone, then the changes of the wider list. */
export const rowScopeOf = ({ candidate, progress }: ScopeTask, rowScope: RowScope): RowScope =>
  progress?.kind === "walk" && candidate.widens !== undefined ? candidate.widens.added : rowScope;

/** The request for a read of a task; `read` is null where one request suffices. */
export const wantedCall = (
  task: ScopeTask,
  read: ReadRequest | null,
  shape: ListShape,
  options: WantedOptions,
): WantedCall => {
  const work = workOfTask(task);
  const call =
    read === null
      ? singleCall(task, shape, options)
      : listCall(task.stream, task.candidate.scope, read, orderOf(task), shape, {
          ...options,
          rowScope: rowScopeOf(task, options.rowScope),
        });
  const overlap = task.progress?.kind === "walk" ? task.progress.coverage.overlap : null;
  const granted = call.query.onlyWithFields === undefined ? shape.inDefault : shape.grants;
  const along = task.stream.embeds.flatMap(({ table }) =>
    isStreamName(table) ? contentNames(streamSpec(table), options) : [],
  );
  return { call, work, detail: { read, overlap, granted: read === null ? [] : granted, along, work } };
};

/** The request as text for messages, in the form of verdicts (api/retry-policy.ts). */
export const whereOf = (task: ScopeTask, { call }: WantedCall, request: ReadRequest | null): string =>
  `${task.stream.name} (GET ${call.path}${request === null ? "" : `, page ${request.page}`})`;
