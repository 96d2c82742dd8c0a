// Messages of alert rules that hold an erased person are removed; those of others stay.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeMessages } from "../../../../src/warehouse/forget/messages.ts";

test("waiting messages and dead letters with the person's id or address go, similar ones stay", async () => {
  const state = mkdtempSync(join(tmpdir(), "duckmirror-messages-"));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  const write = (place: string, name: string, text: string) => {
    mkdirSync(join(state, "alerts/a", place), { recursive: true });
    writeFileSync(join(state, "alerts/a", place, name), text);
  };
  write("waiting", "000000000001.json", '{"key":"contacts:p_1"}');
  write("waiting", "000000000002.json", '{"key":"contacts:p_12"}');
  write("dead", "000000000003.json", '{"row":{"email":"zoë@example.com"}}');
  write("dead", "000000000004.json", '{"row":{"link":"/people?email=zo%C3%AB%40example.com"}}');
  write(".", "position.json", '{"v":1}');
  const traces = [
    { kind: "id", text: "p_1" },
    { kind: "email", text: "zoë@example.com" },
  ] as const;
  expect(await removeMessages(state, [{ id: "p_1", hash: "h", traces }])).toHaveLength(3);
  expect(readdirSync(join(state, "alerts/a/waiting"))).toEqual(["000000000002.json"]);
  expect(readdirSync(join(state, "alerts/a/dead"))).toEqual([]);
  expect(await removeMessages(join(state, "nowhere"), [])).toEqual([]);
});
