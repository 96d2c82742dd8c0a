// Limits on connections, over raw sockets: nobody can block the server by holding connections.
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import { type ConnectionLimits, createRoom, networkOf } from "../../../../src/server/access/connection-limits.ts";
import { aRunningServer, serving } from "../../../support/served.ts";

const KEY = new Secret("0123456789abcdef0123456789abcdef");
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const started = async (limits: Partial<ConnectionLimits>): Promise<number> => {
  const { url } = await aRunningServer({ ...serving(), key: KEY, limits, onFault: () => undefined });
  return Number(new URL(url).port);
};

interface Held {
  /** What came back until the server closed the connection. */
  readonly ended: Promise<string>;
}

/** A connection that sends `text` and nothing more. */
const holding = async (port: number, text: string, localAddress = "127.0.0.1"): Promise<Held> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  let heard = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    heard += part;
  });
  const ended = new Promise<string>((resolve) =>
    socket.on("error", () => undefined).once("close", () => resolve(heard)),
  );
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", resolve));
  socket.write(text);
  return { ended };
};

const HOST = "Host: 127.0.0.1\r\n";
const health = (port: number) => fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status);

test.each([
  ["a body that does not come", `POST /login HTTP/1.1\r\n${HOST}Content-Length: 1000\r\n\r\nkey=`],
  [
    "a chunked body that does not end",
    `POST /login HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n4\r\nkey=\r\n`,
  ],
  ["a head that does not end", `GET /healthz HTTP/1.1\r\n${HOST}X-A: `],
  ["a connection on which nothing comes", ""],
])("%s is given up after its time", async (_, text) => {
  const port = await started({ requestMs: 200, checkMs: 20, idleMs: 60_000 });
  const held = await Promise.all(Array.from({ length: 40 }, () => holding(port, text)));
  await Promise.all(held.map(({ ended }) => ended));
  expect(await health(port)).toBe(200);
});

test("a connection on which nothing moves between requests is closed", async () => {
  const port = await started({ idleMs: 200 });
  const { ended } = await holding(port, `GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
  expect(await ended).toContain("200 OK");
});

test.each([
  ["in all", { connections: 5 }],
  ["from one address", { perAddress: 5 }],
])("of too many connections %s the oldest without a whole request makes room", async (_, limits) => {
  const port = await started(limits);
  const kept = await Promise.all(Array.from({ length: 5 }, () => holding(port, "GET /healthz HTTP/1.1\r\n")));
  expect(await health(port)).toBe(200);
  expect(await kept[0]?.ended).toBe("");
});

test.each([
  [5, 256],
  [64, 32],
])(
  "%i addresses that hold %i unfinished requests each keep nobody from an answer",
  async (addresses, each) => {
    const port = await started({});
    const unfinished = `GET /healthz HTTP/1.1\r\n${HOST}X-A: `;
    for (let nth = 2; nth < addresses + 2; nth++) {
      await Promise.all(Array.from({ length: each }, () => holding(port, unfinished, `127.0.1.${nth}`)));
      expect(await health(port)).toBe(200);
    }
    const statuses = await Promise.all(Array.from({ length: 10 }, () => health(port)));
    expect(statuses).toEqual(Array(10).fill(200));
    // From one of their own addresses, too.
    const own = await holding(port, `GET /healthz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, "127.0.1.2");
    expect(await own.ended).toContain("200 OK");
  },
  60_000,
);

test("requests that do not wait for responses are answered up to their number, then the connection is closed", async () => {
  const port = await started({ perConnection: 4 });
  const { ended } = await holding(port, `GET /healthz HTTP/1.1\r\n${HOST}\r\n`.repeat(50));
  const statuses = [...(await ended).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual(["200", "200", "200", "200", "429"]);
  expect(await health(port)).toBe(200);
});

// Which connection goes when there are too many.

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

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::1", "0:0:0:0"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:db8::ffff:1:2:3", "2001:db8:0:0"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1::", "2001:db8:1:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["", ""],
])("%s belongs to %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
