// States of scopes: one or many at once, the last of each counts, and each comes back as it was stored.
import { expect, test } from "vitest";
import { writeScopeStates } from "../../../../src/warehouse/load/scope-states.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { aState, aWarehouse } from "../builders.ts";

const byScope = (states: readonly ScopeState[]) => [...states].sort((a, b) => (a.scope < b.scope ? -1 : 1));

test("a single state and several take different ways to the same rows", async () => {
  const { database, scopeStates } = await aWarehouse();
  const store = (...states: readonly ScopeState[]) => database.transaction((tx) => writeScopeStates(tx, states));
  const full = aState({ scope: "a", rowsAtWalk: 3, walkedAt: 5, unconfirmed: { rows: 2, because: "x" }, error: "e" });
  const empty = aState({ scope: "b", walkId: null, cursor: null, watermark: null, totalCount: null, checkedAt: null });
  await store(full);
  expect(await scopeStates()).toEqual([full]);
  await store(empty, { ...full, totalCount: 99 });
  expect(byScope(await scopeStates())).toEqual([{ ...full, totalCount: 99 }, empty]);
  // The last one of a scope counts, in both ways.
  await store({ ...full, totalCount: 1 }, { ...full, totalCount: 2 });
  await store({ ...full, totalCount: 3 }, empty, { ...full, totalCount: 4 });
  expect(byScope(await scopeStates())).toEqual([{ ...full, totalCount: 4 }, empty]);
  await store(full, empty);
  expect(byScope(await scopeStates())).toEqual([full, empty]);
  await store();
  expect(await scopeStates()).toHaveLength(2);
});
