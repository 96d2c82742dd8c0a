// Stored cursor: the JSON in `sync.stream_state` from which an interrupted task resumes. Validated on reading,
// because another version of the program may have written it.
import { z } from "zod";
import { type Progress, resumeProgress, serialiseProgress } from "./ways/progress.ts";

const storedCursor = z.object({
  progress: z.string(),
  startedAt: z.number(),
  readAt: z.number().default(0),
  newest: z.number().nullable(),
  firstNewest: z.number().nullable(),
  firstMirror: z.boolean(),
  rejected: z.number(),
  /** Misfits, by the name that earlier versions stored. */
  refused: z.number().default(0),
  forgotten: z.array(z.string()).default([]),
  content: z.array(z.string()).readonly().default([]),
});

/**
 * The cursor from its stored text; null when it is missing or unreadable, and the scope then starts anew. `read`: the
 * progress for another run, or as it was stored.
 */
export const parseCursor = (text: string | null | undefined, read = resumeProgress) => {
  if (text === null || text === undefined) return null;
  try {
    const parsed = storedCursor.safeParse(JSON.parse(text));
    if (!parsed.success) return null;
    const progress = read(parsed.data.progress);
    return progress === null ? null : { ...parsed.data, progress };
  } catch {
    return null;
  }
};

/** The cursor as text. */
export const cursorText = (
  cursor: Omit<z.infer<typeof storedCursor>, "progress"> & { readonly progress: Progress },
): string =>
  JSON.stringify({ ...cursor, progress: serialiseProgress(cursor.progress) } satisfies z.infer<typeof storedCursor>);
