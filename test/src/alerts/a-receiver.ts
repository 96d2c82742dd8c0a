// A receiver of alerts over sockets: checks signatures with the standard's own library, and answers as the test says.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { Message } from "../../../src/alerts/message.ts";
import { afterTest } from "../../support/after-test.ts";

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** What it answers to a message; `reset`: it breaks the connection; `taken`: before that, it takes the message. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly reset?: boolean;
}

export interface Received {
  readonly id: string;
  readonly body: Message["body"];
  readonly text: string;
  readonly status: number | null;
}

export const aReceiver = async (answer: (nth: number) => Answer = () => ({})) => {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString("utf8");
      const { status = 204, headers = {}, reset = false } = answer(received.length);
      const id = String(request.headers["webhook-id"] ?? "");
      // The library checks the time against the machine's clock, and tests move their own one; so it signs.
      const signedAt = new Date(Number(request.headers["webhook-timestamp"]) * 1000);
      const expected = id === "" ? undefined : new Webhook(SECRET).sign(id, signedAt, text);
      if (request.headers["webhook-signature"] !== expected) return void response.writeHead(401).end();
      received.push({ id, body: JSON.parse(text), text, status: reset ? null : status });
      if (reset) request.socket.destroy();
      else response.writeHead(status, { connection: "close", ...headers }).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  afterTest(() => new Promise<void>((done) => server.close(() => done())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hush-path`;
  return { url, received, taken: () => received.filter(({ status }) => status !== null && status < 300) };
};
