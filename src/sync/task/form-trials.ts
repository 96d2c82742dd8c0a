// Forms that one list or record of many is asked for in after its own refusals. The others may be returned in their stream's
// form, so the tried form becomes the stream's only if nothing of its kind was returned in the stream's form in this run.
import type { ListShape } from "../list/form.ts";
import type { ScopeTask } from "./scope-task.ts";

/** Lists and records of a stream that are refused in every form, after which no other form is tried for a further one. */
const MOST_IN_VAIN = 3;

/** True where the task is one of many of its kind: the first refusal may be its own. */
export const isOneOfMany = ({ stream, progress }: ScopeTask): boolean =>
  stream.scope !== "organization" || progress === null;

export interface FormTrials {
  /** The form that the task is asked for in; undefined: that of its stream. */
  of(task: ScopeTask): ListShape | undefined;
  /** False once enough others of its kind were refused in every form: the form is not the reason. */
  mayTry(task: ScopeTask): boolean;
  try(task: ScopeTask, form: ListShape): void;
  /** The task was refused in every form. */
  giveUp(task: ScopeTask): void;
  /**
   * The task was returned, in `form` if it is one of its own. `own`: others are returned in the stream's form, so it
   * keeps this one for itself. `stream`: it is the stream's form now, or was.
   */
  returned(task: ScopeTask, form: ListShape): "own" | "stream";
}

export const createFormTrials = (): FormTrials => {
  const forms = new Map<ScopeTask, ListShape>();
  const returnedInStreams = new Set<string>();
  const inVain = new Map<string, number>();
  const kindOf = ({ stream, progress }: ScopeTask) => `${stream.name}/${progress === null ? "record" : "list"}`;

  return {
    of: (task) => forms.get(task),
    mayTry: (task) => {
      const most = returnedInStreams.has(kindOf(task)) ? 1 : MOST_IN_VAIN;
      return forms.has(task) || (inVain.get(kindOf(task)) ?? 0) < most;
    },
    try: (task, form) => void forms.set(task, form),
    giveUp: (task) => {
      forms.delete(task);
      inVain.set(kindOf(task), (inVain.get(kindOf(task)) ?? 0) + 1);
    },
    returned: (task, form) => {
      const kind = kindOf(task);
      if (!forms.has(task)) returnedInStreams.add(kind);
      else if (isOneOfMany(task) && returnedInStreams.has(kind)) {
        forms.set(task, form);
        return "own";
      } else {
        forms.delete(task);
        returnedInStreams.add(kind);
      }
      return "stream";
    },
  };
};
