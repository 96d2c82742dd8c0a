// duckmirror trigger: what it refuses before it asks a worker, and a worker that refuses it.
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { cli } from "../../../../support/cli.ts";

test("--timeout wants a duration", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example" };
  expect((await cli(["trigger", "--timeout", "0s"], { env })).err).toContain('"0s" is not a duration');
  expect((await cli(["trigger", "--wait", "--timeout", "soon"], { env })).err).toContain('"soon" is not a duration');
});

test("a stream that does not exist is refused although no worker is there to ask", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example", DUCKMIRROR_LISTEN: "127.0.0.1:1" };
  const { code, err } = await cli(["trigger", "signal"], { env });
  expect([code, err]).toEqual([2, expect.stringContaining("signal is not a stream. Did you mean signals?")]);
});

test("a wrong server key ends with exit code 3 and says which setting to correct", async () => {
  const server = createServer((_, response) => void response.end('{"salt":"a","proofs":[]}'));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    if (address === null || typeof address === "string") throw new TypeError("no port");
    const listen = `127.0.0.1:${address.port}`;
    const env = {
      DUCKMIRROR_BASE_URL: "https://api.example",
      DUCKMIRROR_LISTEN: listen,
      DUCKMIRROR_SERVER_KEY: "a-key-that-is-not-the-one-of-the-worker",
    };
    const { code, err } = await cli(["trigger"], { env });
    expect(code).toBe(3);
    expect(err).toContain(`The worker at ${listen} refuses the server key: what listens there did not prove`);
    expect(err).toContain("DUCKMIRROR_SERVER_KEY_FILE");
    expect(err).toContain("`trigger` and `jobs --cancel` the role operate");
  } finally {
    server.close();
  }
});
