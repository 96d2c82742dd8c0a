// A server before an imitation of object storage: it counts requests, can lose answers, refuse, and call back.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";

export interface SeenRequest {
  readonly method: string;
  /** Without account and bucket; empty for the bucket itself. */
  readonly key: string;
  readonly query: string;
}

/**
 * `pass`: to the storage. `busy`: HTTP 503. `reset`: the connection breaks before the storage gets it; `lost`: after it
 * answered; `silent`: nothing comes, and the connection stays.
 */
export type NextStep = "pass" | "busy" | "reset" | "lost" | "silent";

export interface CountingServer {
  /** Address of the server that counts. */
  readonly endpoint: string;
  /** Requests since the last call of `forget`. */
  readonly seen: SeenRequest[];
  forget(): void;
  /** Decides about each request; null: all pass. */
  rule: ((one: SeenRequest) => NextStep | Promise<NextStep>) | null;
  close(): void;
}

interface Behind {
  /** Port of the storage now. */
  port(): number;
  /** Parts of a path before the key. */
  readonly partsBeforeKey: number;
  /** Body of an answer that says the service is busy. */
  readonly busy: string;
  /** Called with each request that the storage confirmed. */
  readonly onConfirmed?: (request: IncomingMessage, body: Buffer) => void;
}

const seenIn = ({ method = "", url = "" }: IncomingMessage, { partsBeforeKey }: Behind): SeenRequest => {
  const [path = "", query = ""] = url.split("?");
  const parts = path.split("/").slice(1 + partsBeforeKey);
  return { method, key: decodeURIComponent(parts.join("/")), query };
};

const forward = (incoming: IncomingMessage, response: ServerResponse, isLost: boolean, behind: Behind): void => {
  const { method, url, headers } = incoming;
  const sent: Buffer[] = [];
  const onward = request({ host: "127.0.0.1", port: behind.port(), method, path: url, headers }, (answer) => {
    if ((answer.statusCode ?? 500) < 300) behind.onConfirmed?.(incoming, Buffer.concat(sent));
    if (isLost) return void answer.on("end", () => incoming.socket.destroy()).resume();
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.once("error", () => incoming.socket.destroy());
    answer.pipe(response);
  });
  onward.on("error", () => incoming.socket.destroy());
  incoming.on("data", (chunk: Buffer) => sent.push(chunk));
  incoming.pipe(onward);
};

/** Starts the server. */
export const startCounting = async (behind: Behind): Promise<CountingServer> => {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    const one = seenIn(incoming, behind);
    seen.push(one);
    void (async () => {
      const fate = (await self.rule?.(one)) ?? "pass";
      if (fate === "reset") return incoming.socket.destroy();
      if (fate === "silent") return void incoming.resume();
      if (fate !== "busy") return forward(incoming, response, fate === "lost", behind);
      incoming.resume();
      response.writeHead(503, { "content-type": "application/xml" }).end(behind.busy);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const self: CountingServer = {
    endpoint: `http://127.0.0.1:${address.port}`,
    seen,
    forget: () => void seen.splice(0),
    rule: null,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return self;
};

/** Sends SIGKILL, also when this process ends first. */
export const mortal = (child: ChildProcess) => {
  const leave = () => void child.kill("SIGKILL");
  process.once("exit", leave);
  return async (): Promise<void> => {
    process.off("exit", leave);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
};

/** The port that a program names once it listens. */
export const portOf = (child: ChildProcess, listens: RegExp): Promise<number> =>
  new Promise((resolve, reject) => {
    let text = "";
    const hear = (chunk: unknown) => {
      text += String(chunk);
      const port = listens.exec(text)?.[1];
      if (port === undefined) return;
      resolve(Number(port));
      text = "";
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("exit", () => reject(new Error(`${child.spawnargs.join(" ")} did not start: ${text}`)));
  });
