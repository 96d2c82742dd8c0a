// Files of an alert rule: position and messages, also after a kill between the two.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventId, messagesOf } from "../../../../src/alerts/message.ts";
import { openRuleStore, ruleFolder } from "../../../../src/alerts/store/rule-store.ts";
import { aFolder } from "../../../support/cli.ts";

const messages = (...names: readonly string[]) =>
  names.flatMap((name) =>
    messagesOf([{ id: eventId(name), type: "change.found", at: "2026-01-01T00:00:00.000Z", key: name, row: {} }], {
      ...{ rule: "hot", profile: "default", batch: 1, now: 0 },
    }),
  );
const rig = () => {
  const dataDir = aFolder();
  const store = openRuleStore(dataDir, "hot");
  const keys = async (place: "waiting" | "dead" = "waiting") =>
    (await store.messages(place)).map(({ message }) => message.body.data.events[0]?.key);
  return { dataDir, folder: ruleFolder(dataDir, "hot"), store, keys };
};

test("a rule that is new has considered nothing and holds nothing, and asking creates no file", async () => {
  const { store, keys, dataDir } = rig();
  expect(await store.position()).toMatchObject({ after: null, active: {}, off: null, problem: null });
  expect([await keys(), await store.count("dead")]).toEqual([[], 0]);
  expect(readdirSync(dataDir)).toEqual([]);
});

test("messages that were written before a kill, without their position, do not exist, and are written anew", async () => {
  const { store, keys } = rig();
  await store.commit(await store.position(), messages("a"));
  const before = await store.position();
  await store.commit(before, messages("killed 1", "killed 2", "killed 3"));
  await store.keep(before);
  expect([await keys(), await store.count("waiting")]).toEqual([["a"], 1]);
  await store.commit(before, messages("b"));
  expect(await keys()).toEqual(["a", "b"]);
  await store.commit(await store.position(), messages("c", "d"));
  expect(await keys()).toEqual(["a", "b", "c", "d"]);
});

test("a damaged file is an error that names it, and nothing is sent or forgotten because of it", async () => {
  const { store, folder } = rig();
  await store.commit(await store.position(), messages("a"));
  writeFileSync(join(folder, "waiting", "000000000001.json"), '{"v":1');
  await expect(store.messages("waiting")).rejects.toMatchObject({
    code: "ALERTS_DAMAGED",
    context: { file: join(folder, "waiting", "000000000001.json") },
  });
  writeFileSync(join(folder, "position.json"), "");
  await expect(store.position()).rejects.toMatchObject({ code: "ALERTS_DAMAGED" });
});

test("a folder in the place of a file is refused: somebody planted it", async () => {
  const { store, folder } = rig();
  mkdirSync(join(folder, "position.json"), { recursive: true });
  await expect(store.position()).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});
