// What the archive keeps beside a response, so that it can be loaded later as when it was received.
import { z } from "zod";
import { WORK } from "../../warehouse/record/checkpoint.ts";

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
export type ArchivedDetail = z.infer<typeof archivedDetail>;
