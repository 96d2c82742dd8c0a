// Forms that one list or record of many is asked for in after its own refusals. The others may be returned in their stream's
// form, so the tried form becomes the stream's only if nothing of its kind was returned in the stream's form in this run.
import type { ListShape } from "../../list/form.ts";
import { progressOf } from "../../list/state.ts";
import type { OpenList } from "./open-list.ts";

/** Lists and records of a stream that are refused in every form, after which no other form is tried for a further one. */
const MOST_IN_VAIN = 3;

/** True where the list is one of many of its kind: the first refusal may be its own. */
export const isOneOfMany = ({ stream, state }: OpenList): boolean =>
  stream.scope !== "organization" || progressOf(state) === null;

export interface FormTrials {
  /** The form that the list is asked for in; undefined: that of its stream. */
  of(list: OpenList): ListShape | undefined;
  /** False once enough others of its kind were refused in every form: the form is not the reason. */
  mayTry(list: OpenList): boolean;
  try(list: OpenList, form: ListShape): void;
  /** The list was refused in every form. */
  giveUp(list: OpenList): void;
  /**
   * The list was returned, in `form` if it is one of its own. `own`: others are returned in the stream's form, so it
   * keeps this one for itself. `stream`: it is the stream's form now, or was.
   */
  returned(list: OpenList, form: ListShape): "own" | "stream";
}

export const createFormTrials = (): FormTrials => {
  const forms = new Map<OpenList, ListShape>();
  const returnedInStreams = new Set<string>();
  const inVain = new Map<string, number>();
  const kindOf = ({ stream, state }: OpenList) => `${stream.name}/${progressOf(state) === null ? "record" : "list"}`;

  return {
    of: (list) => forms.get(list),
    mayTry: (list) => {
      const most = returnedInStreams.has(kindOf(list)) ? 1 : MOST_IN_VAIN;
      return forms.has(list) || (inVain.get(kindOf(list)) ?? 0) < most;
    },
    try: (list, form) => void forms.set(list, form),
    giveUp: (list) => {
      forms.delete(list);
      inVain.set(kindOf(list), (inVain.get(kindOf(list)) ?? 0) + 1);
    },
    returned: (list, form) => {
      const kind = kindOf(list);
      if (!forms.has(list)) returnedInStreams.add(kind);
      else if (isOneOfMany(list) && returnedInStreams.has(kind)) {
        forms.set(list, form);
        return "own";
      } else {
        forms.delete(list);
        returnedInStreams.add(kind);
      }
      return "stream";
    },
  };
};
