// Makes the messages of an alert rule from its events. A message keeps its id and events until its receiver accepts it or it is given up,
// so that the receiver can drop duplicates. Pure. docs/ALERTS.md shows a message.
import { createHash } from "node:crypto";
import { z } from "zod";

const cells = z.record(z.string(), z.unknown());

const eventSchema = z.object({
  id: z.string(),
  /** change.found, run.failed, data.old, credits.short, … */
  type: z.string(),
  /** ISO 8601, UTC. */
  at: z.string(),
  /** Events of one key arrive in order. */
  key: z.string(),
  /** Of change.found: number, table and kind of the change. */
  n: z.int().optional(),
  table: z.string().optional(),
  change: z.string().optional(),
  /** The row of the rule's query, or what the program knows of its state. */
  row: cells,
});
export type AlertEvent = z.output<typeof eventSchema>;

export const messageSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  /** ms since the epoch. */
  madeAt: z.number(),
  /** Attempts so far, the earliest time of the next one (ms since the epoch), and why the last one failed. */
  attempts: z.int(),
  nextAt: z.number(),
  error: z.string().nullable(),
  body: z.object({
    type: z.string(),
    timestamp: z.string(),
    data: z.object({ rule: z.string(), profile: z.string(), events: z.array(eventSchema) }),
  }),
});
export type Message = z.output<typeof messageSchema>;

const digestOf = (parts: readonly (string | number)[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);

/** The same parts give the same id. */
export const eventId = (...parts: readonly (string | number)[]): string => `evt_${digestOf(parts)}`;

/** The events in messages of at most `batch`, in order. */
export const messagesOf = (
  events: readonly AlertEvent[],
  of: {
    readonly rule: string;
    readonly profile: string;
    readonly batch: number;
    readonly now: number;
    readonly type?: string;
  },
): readonly Message[] => {
  const { rule, profile, batch, now, type = "duckmirror.alert" } = of;
  const messages: Message[] = [];
  for (let from = 0; from < events.length; from += batch) {
    const some = events.slice(from, from + batch);
    messages.push({
      v: 1,
      id: `msg_${digestOf(some.map(({ id }) => id))}`,
      madeAt: now,
      attempts: 0,
      nextAt: 0,
      error: null,
      body: { type, timestamp: new Date(now).toISOString(), data: { rule, profile, events: some } },
    });
  }
  return messages;
};
