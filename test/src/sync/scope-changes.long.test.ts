// A scope of accounts that changes before each sync, while accounts come, change and go.
import { expect, test } from "vitest";
import { anAccount } from "../../support/fake-data.ts";
import { seededRandom } from "../../support/sync-rig.ts";
import { DAY_MS, startScoped, TYPES } from "./scoped-rig.ts";

test("whatever the scope and its changes: mirror = source inside it, and no row is deleted that is there (seed 7)", async () => {
  const random = seededRandom(7);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const { service, rig, clock, sync, there } = await startScoped();
  const scopes = [
    {},
    ...TYPES.map((type) => ({ accounts: { type: [type] } })),
    { accounts: { type: TYPES.slice(0, 2) } },
  ];
  const request = { streams: ["accounts", "contacts", "signals"] };
  let next = 100;
  for (let round = 0; round < 25; round++) {
    await clock.sleep(DAY_MS);
    const updatedAt = new Date(clock.now()).toISOString();
    for (let change = 0; change < 3; change++) {
      const kind = random();
      if (kind < 0.3) service.data.accounts.push(anAccount(next++, { type: pick(TYPES), updatedAt }));
      else if (kind < 0.5) service.data.accounts.splice(Math.floor(random() * service.data.accounts.length), 1);
      else Object.assign(pick(service.data.accounts), { type: pick(TYPES), updatedAt });
    }
    const scope: { accounts?: { type: string[] } } = pick(scopes);
    const types = scope.accounts?.type ?? TYPES;
    const { error, complete } = await sync(scope, { ...request, full: random() < 0.2 });
    expect([round, error, complete]).toEqual([round, null, true]);
    const rows = await rig.rows("select id from accounts where _in_scope order by id");
    expect(
      rows.map(({ id }) => id),
      `round ${round}`,
    ).toEqual(there(({ type }) => types.includes(String(type)), "accounts"));
    const deleted = await rig.rows("select distinct id from history.accounts where change = 'delete'");
    const alive = new Set(service.data.accounts.map(({ id }) => id));
    expect(deleted.filter(({ id }) => alive.has(Number(id)))).toEqual([]);
  }
});
