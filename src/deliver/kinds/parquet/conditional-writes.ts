// Tries whether a store keeps conditions of writes. Servers exist that ignore them; there, two deliveries at once would mix
// their sets.
import { randomUUID } from "node:crypto";
import { type ObjectStore, unconditional } from "../../stores/object-store.ts";

/** Throws DESTINATION_UNCONDITIONAL. Costs five requests, once, before the first delivery. */
export const assertConditional = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  const key = `_conditions-${randomUUID()}`;
  await store.put(key, "1", null, signal);
  try {
    const isKept = async () => {
      if (await store.put(key, "2", { ifNoneMatch: "*" }, signal)) return false;
      return !(await store.put(key, "3", { ifMatch: '"00000000000000000000000000000000"' }, signal));
    };
    if (!(await isKept())) throw unconditional(store.name);
  } finally {
    await store.delete([key], signal);
  }
};
