// Events of states: one when a state begins, one when it is over, none while it lasts. Pure.
import type { AlertEventKind } from "../../core/config/alerts/alert-settings.ts";
import { type AlertEvent, eventId } from "../message.ts";
import type { Position } from "../store/rule-store.ts";

/** Something that is true now. One key is one state. */
export interface Condition {
  readonly key: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Types of the events that begin and end a state. */
const TYPES: Readonly<Record<Exclude<AlertEventKind, "changes">, readonly [begins: string, ends: string]>> = {
  run_failed: ["run.failed", "run.recovered"],
  data_old: ["data.old", "data.fresh"],
  credits_short: ["credits.short", "credits.enough"],
};

export const stateEvents = (
  active: Position["active"],
  conditions: readonly Condition[],
  of: {
    readonly event: Exclude<AlertEventKind, "changes">;
    readonly mirror: string;
    readonly rule: string;
    readonly now: number;
  },
): { readonly events: readonly AlertEvent[]; readonly active: Position["active"] } => {
  const { event, mirror, rule, now } = of;
  const [begins, ends] = TYPES[event];
  const at = new Date(now).toISOString();
  const isTrue = new Set(conditions.map(({ key }) => key));
  const over = Object.entries(active).filter(([key]) => !isTrue.has(key));
  const fresh = conditions.filter(({ key }) => !Object.hasOwn(active, key));
  const id = (type: string, key: string, since: string) => eventId(mirror, rule, type, key, since);
  const events = [
    ...over.map(([key, { since }]) => ({ id: id(ends, key, since), type: ends, at, key, row: { key, since } })),
    ...fresh.map(({ key, row }) => ({ id: id(begins, key, at), type: begins, at, key, row: { ...row } })),
  ];
  const still = Object.entries(active).filter(([key]) => isTrue.has(key));
  return { events, active: Object.fromEntries([...still, ...fresh.map(({ key }) => [key, { since: at }] as const)]) };
};
