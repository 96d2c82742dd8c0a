// Several organizations in the tables of one lake.
import { expect, test } from "vitest";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { aFolder, deliver, differencesIn, report, withReader } from "./a-lake.ts";
import { addContacts, erase } from "./erasing.ts";
import { commitSignals } from "./moving-mirror.ts";

test("two organizations share tables: each delivery, delete, erasure and takeover touches its own rows only", async () => {
  const [at, acme, globex] = [aFolder(), aFolder(), aFolder()];
  const call = (dataDir: string, organization: string) => ({ dataDir, at, settings: { organization } });
  // Both have the same keys, with other values.
  for (const [nth, dataDir] of [acme, globex].entries()) {
    await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 20, seededRandom(nth)));
    await addContacts(dataDir, ["contact-1", "contact-2"]);
  }
  await deliver(call(acme, "acme"));
  await deliver(call(globex, "globex-2"));
  expect(await differencesIn(at, { acme, "globex-2": globex })).toEqual({});
  await change(acme, async (warehouse) => {
    await commitSignals(warehouse, 15, 10, seededRandom(3));
    await warehouse.deleteKeys({ table: "signals", ids: ["1", "2"], runId: "r", now: Date.now() });
  });
  await erase(acme, "contact-1");
  await deliver(call(acme, "acme"));
  expect(await differencesIn(at, { acme, "globex-2": globex })).toEqual({});
  await withReader(at, async (run) => {
    const who = await run("SELECT organization FROM lake.main.contacts WHERE id = 'contact-1'");
    expect(who).toEqual([{ organization: "globex-2" }]);
    const files = await run("SELECT data_file FROM ducklake_list_files('lake', 'signals')");
    for (const { data_file: file } of files) expect(String(file)).toMatch(/organization=(?:acme|globex-2)\/year=/);
  });
  expect((await report(call(globex, "acme"))).error).toMatchObject({ code: "DESTINATION_OTHER_MIRROR" });
  expect((await report({ dataDir: acme, at })).error).toMatchObject({ code: "DESTINATION_FAILED" });
  await deliver({ ...call(globex, "acme"), takeOver: true });
  expect(await differencesIn(at, { acme: globex, "globex-2": globex })).toEqual({});
});

test("a schema that one mirror fills is refused to organizations that would share it", async () => {
  const [dataDir, at] = [aFolder(), aFolder()];
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 1, seededRandom(4)));
  await deliver({ dataDir, at });
  const { error } = await report({ dataDir, at, settings: { organization: "acme" } });
  expect(error).toMatchObject({ code: "DESTINATION_FAILED", message: expect.stringContaining("one mirror fills") });
});
