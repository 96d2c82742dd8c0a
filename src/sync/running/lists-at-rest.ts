// Lists whose records may come along with insights: those that this mirror holds whole and that nobody is reading. While a list
// is read, its pages are newer than what comes along; with a scope of its own, records outside would come along, too.
import { ORGANIZATION_LISTS, type StreamName } from "../../catalog/streams.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { stateKey } from "../plan/candidate.ts";
import { isScoped } from "../rows/row-scope.ts";
import { isExcerpt, type ScopeTask } from "../task/scope-task.ts";
import type { SyncOptions, SyncRun } from "./run-state.ts";

type Choice = Pick<SyncOptions, "configured" | "rowScope">;

const mayComeAlong = ({ configured, rowScope }: Choice, name: StreamName): boolean =>
  configured.includes(name) && !isScoped(rowScope, name);

/** The lists at rest when a run starts. */
export const listsAtRest = (states: ReadonlyMap<string, ScopeState>, options: Choice): Set<StreamName> => {
  return new Set(
    ORGANIZATION_LISTS.filter((name) => {
      const state = states.get(stateKey(name, ""));
      return mayComeAlong(options, name) && state?.status === "idle" && state.walkedAt !== null;
    }),
  );
};

const isList = ({ candidate, progress }: ScopeTask): boolean => progress !== null && candidate.scope === "";

/** A task starts reading. */
export const leaveRest = (run: SyncRun, task: ScopeTask): void => {
  if (isList(task)) run.atRest.delete(task.stream.name);
};

/** A task has read its list to the end. */
export const comeToRest = (run: SyncRun, task: ScopeTask): void => {
  const { name } = task.stream;
  if (isList(task) && !isExcerpt(task) && mayComeAlong(run.options, name)) run.atRest.add(name);
};
