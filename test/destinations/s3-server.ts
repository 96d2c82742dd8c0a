// moto's imitation of S3, and before it a server that counts requests, can lose answers, refuse, and call back.
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

const forward = (incoming: IncomingMessage, response: ServerResponse, port: number, isLost: boolean): void => {
  const { method, url, headers } = incoming;
  const onward = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    if (isLost) return void answer.on("end", () => incoming.socket.destroy()).resume();
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => incoming.socket.destroy());
  incoming.pipe(onward);
};

/** Starts both. `env`: settings of moto. */
export const startS3 = async (venv: string, env: Readonly<Record<string, string>> = {}): Promise<S3Server> => {
  const moto = spawn(join(venv, "bin/moto_server"), ["-H", "127.0.0.1", "-p", "0"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH, PYTHONUNBUFFERED: "1", ...env },
  });
  const kill = () => void moto.kill("SIGKILL");
  process.once("exit", kill);
  const port = await started(moto);
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    const one = seenIn(incoming);
    seen.push(one);
    void (async () => {
      const fate = (await self.rule?.(one)) ?? "pass";
      if (fate === "reset") return incoming.socket.destroy();
      if (fate !== "busy") return forward(incoming, response, port, fate === "lost");
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
    stop: async () => {
      server.closeAllConnections();
      server.close();
      kill();
      process.off("exit", kill);
      if (moto.exitCode === null && moto.signalCode === null) await once(moto, "exit");
    },
  };
  return self;
};
