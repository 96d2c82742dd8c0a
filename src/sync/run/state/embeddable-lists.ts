// Lists whose records may come along with insights: those that this mirror holds whole and that no task is reading. While
// a list is read, its pages are newer than embedded records; with a scope of its own, records outside would be embedded too.
import { ORGANIZATION_LISTS, type StreamName } from "../../../catalog/streams.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { stateKey } from "../../plan/candidate.ts";
import { isScoped } from "../../rows/row-scope.ts";
import { isExcerpt, type ScopeTask } from "../../task/scope-task.ts";
import type { SyncOptions, SyncRun } from "./run-state.ts";

type Choice = Pick<SyncOptions, "configured" | "rowScope">;

const mayComeAlong = ({ configured, rowScope }: Choice, name: StreamName): boolean =>
  configured.includes(name) && !isScoped(rowScope, name);

/** The embeddable lists when a run starts. */
export const embeddableLists = (states: ReadonlyMap<string, ScopeState>, options: Choice): Set<StreamName> => {
  return new Set(
    ORGANIZATION_LISTS.filter((name) => {
      const state = states.get(stateKey(name, ""));
      return mayComeAlong(options, name) && state?.status === "idle" && state.walkedAt !== null;
    }),
  );
};

const isList = ({ candidate, progress }: ScopeTask): boolean => progress !== null && candidate.scope === "";

/** A task starts reading its list: its records do not come along until the list is read. */
export const withholdList = (run: SyncRun, task: ScopeTask): void => {
  if (isList(task)) run.embeddable.delete(task.stream.name);
};

/** A task has read its list to the end: its records may come along again. */
export const offerList = (run: SyncRun, task: ScopeTask): void => {
  const { name } = task.stream;
  if (isList(task) && !isExcerpt(task) && mayComeAlong(run.options, name)) run.embeddable.add(name);
};
