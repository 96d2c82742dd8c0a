// Messages of alert rules that hold an erased person are removed; those of others stay.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeMessages } from "../../../../src/warehouse/forget/forget.ts";
import { tempDir } from "../temp-dir.ts";

test("waiting messages and dead letters with the person's id or address go, similar ones stay", async () => {
  const state = tempDir();
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

test("a short id takes neither a rule's position nor the messages about others whose numbers and times it is", async () => {
  const state = tempDir();
  mkdirSync(join(state, "alerts/a/waiting"), { recursive: true });
  const write = (name: string, key: string, row: object) => {
    const events = [{ id: "evt_1", type: "change.found", at: "2026-11-21T00:00:00.000Z", key, n: 21, row }];
    const body = { type: "duckmirror.alert", timestamp: "2026-11-21T00:00:00.000Z", data: { rule: "a", events } };
    const message = { v: 1, id: "msg_1", madeAt: 21, attempts: 21, nextAt: 0, error: null, body };
    writeFileSync(join(state, "alerts/a/waiting", name), JSON.stringify(message));
  };
  write("000000000019.json", "contacts:p_1", { name: "Grace", score: 21 });
  write("000000000020.json", "contacts:21", {});
  write("000000000021.json", "signals:7", { contacts: [{ id: "21" }] });
  writeFileSync(join(state, "alerts/a/position.json"), '{"v":1,"seq":21,"after":21}');
  const removed = await removeMessages(state, [{ id: "21", hash: "h", traces: [{ kind: "id", text: "21" }] }]);
  expect(removed).toHaveLength(2);
  expect(readdirSync(join(state, "alerts/a/waiting"))).toEqual(["000000000019.json"]);
  expect(readdirSync(join(state, "alerts/a"))).toContain("position.json");
});

test("a long id goes also as a number, and with what a rule notes of a query that failed at it", async () => {
  const state = tempDir();
  mkdirSync(join(state, "alerts/a/dead"), { recursive: true });
  const events = [{ key: "signals:7", row: { contact: 901_234 } }];
  writeFileSync(join(state, "alerts/a/dead/000000000001.json"), JSON.stringify({ body: { data: { events } } }));
  const position = join(state, "alerts/a/position.json");
  const kept = { v: 1, seq: 2, after: 7 };
  const problem = { at: "", code: "QUERY_FAILED", message: "Could not convert string '901234' to DATE" };
  writeFileSync(position, JSON.stringify({ ...kept, problem }));
  const traces = [{ kind: "id", text: "901234" }] as const;
  expect(await removeMessages(state, [{ id: "901234", hash: "h", traces }])).toHaveLength(1);
  expect(JSON.parse(readFileSync(position, "utf8"))).toEqual({ ...kept, problem: null });
});
