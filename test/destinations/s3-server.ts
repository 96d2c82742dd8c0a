// moto's imitation of S3, behind a server that counts. moto forgets everything when it dies; the server before it keeps what
// moto has confirmed, so that a killed moto comes back as a service with disks would.
import { spawn } from "node:child_process";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { type CountingServer, mortal, portOf, startCounting } from "./counting-server.ts";

export interface S3Server extends CountingServer {
  /** SIGKILL of moto: requests under way break, later ones are refused. */
  kill(): Promise<void>;
  /** Starts it again, with all it had confirmed. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const LISTENS = /Running on http:\/\/127\.0\.0\.1:(\d+)/;
const BUSY =
  "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";

/** A confirmed request, by its path; repeated, it makes the object. */
type Confirmed = Map<string, { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }>;

/** What an object or bucket is made of, without conditions and encodings of the transport. */
const lasting = (headers: IncomingMessage["headers"]): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string" && /^(?:content-type|x-amz-server-side.*|x-amz-meta-.*|authorization)$/.test(name))
      kept[name] = value;
  }
  return kept;
};

/** The text of a body that came in signed chunks: `aws-chunked`. */
const unchunked = (body: Buffer, headers: IncomingMessage["headers"]): Buffer => {
  if (!String(headers["content-encoding"] ?? "").includes("aws-chunked")) return body;
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.subarray(at, end).toString("latin1"), 16);
    if (!(size > 0)) break;
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(parts);
};

const note = (confirmed: Confirmed, { method, url = "", headers }: IncomingMessage, body: Buffer): void => {
  const [path = "", query = ""] = url.split("?");
  if (method === "DELETE") confirmed.delete(path);
  if (method === "PUT" && !/partNumber/.test(query))
    confirmed.set(path, { headers: lasting(headers), body: unchunked(body, headers) });
};

const repeat = (port: number, confirmed: Confirmed): Promise<unknown> =>
  // Buckets first: their paths have one part.
  [...confirmed]
    .sort(([a], [b]) => a.split("/").length - b.split("/").length)
    .reduce(async (before: Promise<unknown>, [path, { headers, body }]) => {
      await before;
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "PUT",
        headers,
        body: new Uint8Array(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    }, Promise.resolve());

/** Starts both. `env`: settings of moto. */
export const startS3 = async (venv: string, env: Readonly<Record<string, string>> = {}): Promise<S3Server> => {
  const launch = () =>
    spawn(join(venv, "bin/moto_server"), ["-H", "127.0.0.1", "-p", "0"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH, PYTHONUNBUFFERED: "1", ...env },
    });
  let moto = launch();
  let kill = mortal(moto);
  const confirmed: Confirmed = new Map();
  let port = await portOf(moto, LISTENS);
  const onConfirmed = (incoming: IncomingMessage, body: Buffer) => note(confirmed, incoming, body);
  const counting = await startCounting({ port: () => port, partsBeforeKey: 1, busy: BUSY, onConfirmed });
  return Object.assign(counting, {
    kill: () => kill(),
    restart: async () => {
      await kill();
      moto = launch();
      kill = mortal(moto);
      port = await portOf(moto, LISTENS);
      await repeat(port, confirmed);
    },
    stop: async () => {
      counting.close();
      await kill();
    },
  });
};
