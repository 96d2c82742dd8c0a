// moto's imitation of S3, and before it a server that counts requests, can lose answers, refuse, and call back. moto forgets
// everything when it dies; the server before it keeps what moto has confirmed, so that a killed moto comes back as a service
// with disks would.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { join } from "node:path";

export interface SeenRequest {
  readonly method: string;
  /** Without the bucket; empty for the bucket itself. */
  readonly key: string;
  readonly query: string;
}

/** `pass`: to S3. `busy`: HTTP 503. `reset`: the connection breaks before S3 gets it; `lost`: after S3 answered. */
export type Fate = "pass" | "busy" | "reset" | "lost";

export interface S3Server {
  /** Address of the server that counts. */
  readonly endpoint: string;
  /** Requests since the last call of `forget`. */
  readonly seen: SeenRequest[];
  forget(): void;
  /** Decides about each request; null: all pass. */
  rule: ((one: SeenRequest) => Fate | Promise<Fate>) | null;
  /** SIGKILL of moto: requests under way break, later ones are refused. */
  kill(): Promise<void>;
  /** Starts it again, with all it had confirmed. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const started = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    let text = "";
    child.stderr?.on("data", (chunk) => {
      text += String(chunk);
      const port = /Running on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port === undefined) return;
      resolve(Number(port));
      text = "";
    });
    child.once("exit", () => reject(new Error(`moto did not start: ${text}`)));
  });

const seenIn = ({ method = "", url = "" }: IncomingMessage): SeenRequest => {
  const [path = "", query = ""] = url.split("?");
  return { method, key: decodeURIComponent(path.split("/").slice(2).join("/")), query };
};

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

const forward = (
  incoming: IncomingMessage,
  response: ServerResponse,
  { port, isLost, confirmed }: { readonly port: number; readonly isLost: boolean; readonly confirmed: Confirmed },
): void => {
  const { method, url, headers } = incoming;
  const sent: Buffer[] = [];
  const onward = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    if ((answer.statusCode ?? 500) < 300) note(confirmed, incoming, Buffer.concat(sent));
    if (isLost) return void answer.on("end", () => incoming.socket.destroy()).resume();
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.once("error", () => incoming.socket.destroy());
    answer.pipe(response);
  });
  onward.on("error", () => incoming.socket.destroy());
  incoming.on("data", (chunk: Buffer) => sent.push(chunk));
  incoming.pipe(onward);
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
  const kill = async () => {
    if (moto.exitCode !== null || moto.signalCode !== null) return;
    const ended = once(moto, "exit");
    moto.kill("SIGKILL");
    await ended;
  };
  const leave = () => void moto.kill("SIGKILL");
  process.once("exit", leave);
  const confirmed: Confirmed = new Map();
  let port = await started(moto);
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    const one = seenIn(incoming);
    seen.push(one);
    void (async () => {
      const fate = (await self.rule?.(one)) ?? "pass";
      if (fate === "reset") return incoming.socket.destroy();
      if (fate !== "busy") return forward(incoming, response, { port, isLost: fate === "lost", confirmed });
      incoming.resume();
      response.writeHead(503, { "content-type": "application/xml" }).end(BUSY);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const self: S3Server = {
    endpoint: `http://127.0.0.1:${address.port}`,
    seen,
    forget: () => void seen.splice(0),
    rule: null,
    kill,
    restart: async () => {
      await kill();
      moto = launch();
      port = await started(moto);
      await repeat(port, confirmed);
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await kill();
      process.off("exit", leave);
    },
  };
  return self;
};
