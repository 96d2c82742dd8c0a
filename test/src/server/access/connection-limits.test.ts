// Limits on connections, over raw sockets: nobody can block the server by holding connections.
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import type { ConnectionLimits } from "../../../../src/server/access/connection-limits.ts";
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
