// Lists whose records may come along with insights: those that this mirror holds whole and that no task is reading. While
// a list is read, its pages are newer than embedded records; with a scope of its own, records outside would be embedded too.
import { ORGANIZATION_LISTS, type StreamName } from "../../../catalog/streams.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { isExcerpt, progressOf } from "../../list/state.ts";
import { stateKey } from "../../plan/candidate.ts";
import { isScoped } from "../../rows/row-scope.ts";
import type { OpenList } from "./open-list.ts";
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

const isList = ({ candidate, state }: OpenList): boolean => progressOf(state) !== null && candidate.scope === "";

/** A list starts to be read: its records do not come along until the list is read. */
export const withholdList = (run: SyncRun, list: OpenList): void => {
  if (isList(list)) run.embeddable.delete(list.stream.name);
};

/** A list was read to the end: its records may come along again. */
export const offerList = (run: SyncRun, list: OpenList): void => {
  const { name } = list.stream;
  if (isList(list) && !isExcerpt(list.state) && mayComeAlong(run.options, name)) run.embeddable.add(name);
};
