// Which connection goes when there are too many.
import { expect, test } from "vitest";
import { createRoom } from "../../../../src/server/access/connection-limits.ts";

const aRoom = (connections: number, perNetwork = connections) => {
  const room = createRoom({ connections, perNetwork });
  const closed: string[] = [];
  return {
    closed,
    enter: (name: string, busy = false) =>
      room.enter({ network: name.split(" ")[0] ?? "", isBusy: () => busy, close: () => void closed.push(name) }),
  };
};

test("the oldest idle connection of the largest network goes first", () => {
  const { enter, closed } = aRoom(4);
  for (const name of ["a 1", "b 1", "b 2", "b 3"]) enter(name);
  expect([enter("c 1"), closed]).toEqual([true, ["b 1"]]);
});

test("a newcomer takes a busy connection's place only of a network that holds many", () => {
  const { enter, closed } = aRoom(3);
  for (const name of ["a 1", "a 2", "b 1"]) enter(name, true);
  expect([enter("c 1"), closed]).toEqual([true, ["a 1"]]);
  expect([enter("d 1"), closed]).toEqual([true, ["a 1", "c 1"]]);
});

test("a network of many connections drives out its own, and nobody of a smaller one", () => {
  const { enter, closed } = aRoom(4);
  for (const name of ["a 1", "b 1", "b 2", "b 3"]) enter(name);
  for (const nth of [4, 5, 6, 7]) enter(`b ${nth}`);
  expect(closed).toEqual(["b 1", "b 2", "b 3", "b 4"]);
});

test("without a connection that may go, the new one is refused", () => {
  const { enter, closed } = aRoom(3, 2);
  for (const name of ["a 1", "a 2", "b 1"]) enter(name, true);
  expect([enter("a 3"), enter("b 2"), closed]).toEqual([false, false, []]);
});
