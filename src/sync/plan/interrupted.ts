// What was interrupted in a list: its walk, or only a look at what changed. Pure.
import { z } from "zod";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";

/** The part of a stored cursor that says how the list was read; task/stored-cursor.ts reads the rest. */
const cursor = z.object({ progress: z.string() });
const progress = z.object({ kind: z.string() });
const LOOKS: readonly string[] = ["watermark", "filter", "known"];

const kindOf = (text: string | null): string | null => {
  try {
    const stored = cursor.safeParse(JSON.parse(text ?? "null"));
    const read = progress.safeParse(stored.success ? JSON.parse(stored.data.progress) : null);
    return read.success ? read.data.kind : null;
  } catch {
    return null;
  }
};

/**
 * A look says nothing about the rows that did not change, so it takes the place of no walk that is due. null: nothing was
 * interrupted. A cursor that cannot be read counts as that of a walk: the list is then read whole.
 */
export const interruptedWork = (state: Pick<ScopeState, "status" | "cursor">): "walk" | "look" | null => {
  if (state.status !== "walking") return null;
  return LOOKS.includes(kindOf(state.cursor) ?? "") ? "look" : "walk";
};
