import { expect, test } from "vitest";
import { type AlertEvent, eventId, messageSchema, messagesOf } from "../../../src/alerts/message.ts";

const NOW = Date.UTC(2026, 10, 21, 5);
const anEvent = (n: number): AlertEvent => ({
  id: eventId("mirror", "rule", n),
  type: "change.found",
  at: "2026-11-21T04:00:00.000Z",
  key: `accounts:${n}`,
  row: { id: n },
});
const of = { rule: "hot", profile: "north", batch: 2, now: NOW };
const sent = (events: readonly AlertEvent[]) => messagesOf(events, of).map(({ body }) => body.data.events);

test("events are sent in order, each once, at most a batch in a message", () => {
  const events = [1, 2, 3, 4, 5].map(anEvent);
  expect(sent(events).map((some) => some.length)).toEqual([2, 2, 1]);
  expect(sent(events).flat()).toEqual(events);
});

test("without events nothing is sent", () => {
  expect(messagesOf([], of)).toEqual([]);
});

test("a message that is made again after a crash has the same id, so a receiver can drop it", () => {
  const [first] = messagesOf([anEvent(1), anEvent(2)], of);
  const [again] = messagesOf([anEvent(1), anEvent(2)], { ...of, now: NOW + 60_000 });
  expect(again?.id).toBe(first?.id);
});

test("messages of other events have other ids", () => {
  const ids = [[1], [2], [1, 2], [2, 1]].map((some) => messagesOf(some.map(anEvent), of)[0]?.id);
  expect(new Set(ids).size).toBe(4);
});

test("an id of an event depends on every part, its place, and nothing else", () => {
  expect(eventId("m", "rule", 1)).toBe(eventId("m", "rule", 1));
  const ids = [
    eventId("m", "rule", 1),
    eventId("m", "rule", "1"),
    eventId("m", "rule", 11),
    eventId("m", "rule1", 1),
    eventId("rule", "m", 1),
    eventId("mrule", 1),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test("a message names rule, profile, type and time, and is due at once", () => {
  const [message] = messagesOf([anEvent(1)], { ...of, type: "duckmirror.test" });
  expect(message).toMatchObject({
    attempts: 0,
    error: null,
    body: { type: "duckmirror.test", timestamp: "2026-11-21T05:00:00.000Z", data: { rule: "hot", profile: "north" } },
  });
  expect(message?.nextAt).toBeLessThanOrEqual(NOW);
});

test("a stored message is read as it was written", () => {
  const [message] = messagesOf([{ ...anEvent(1), n: 7, table: "accounts", change: "insert" }], of);
  expect(messageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message);
});
