// A service that misbehaves on purpose: a raw TCP server that plays one scripted answer per request, byte by byte, so
// that faults no HTTP library would produce (cut bodies, lying lengths, silence) reach the client over real sockets.
import { createServer, type Socket } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";

interface SeenRequest {
  readonly method: string;
  /** Path and query as they stood in the request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** 1 for the first connection the server accepted. */
  readonly connection: number;
}

/** Plays one answer on the connection that the request came in on. */
export type Script = (socket: Socket, request: SeenRequest) => void;

export interface ScriptedServer {
  readonly origin: string;
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** Appends answers; a request beyond the last one is answered with 500 `unscripted`. */
  play(...scripts: Script[]): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

/** Status line and headers as they go over the wire. */
const head = (status: number, headers: Readonly<Record<string, string>> = {}): string =>
  `HTTP/1.1 ${status} Scripted\r\n${headerLines(headers)}\r\n`;

interface AnswerOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A complete answer with its length; a text is sent as JSON unless a header says otherwise. */
export const answer =
  (body: string | Buffer, { status = 200, headers = {} }: AnswerOptions = {}): Script =>
  (socket) => {
    const bytes = Buffer.from(body);
    const length = String(bytes.length);
    socket.write(head(status, { "content-type": "application/json", "content-length": length, ...headers }));
    socket.write(bytes);
  };

/** A complete, well-formed 200. */
export const json = (value: unknown, options: AnswerOptions = {}): Script => answer(JSON.stringify(value), options);

export const gzipped = (body: string, options: AnswerOptions = {}): Script =>
  answer(gzipSync(body), { ...options, headers: { "content-encoding": "gzip", ...options.headers } });

export const brotli = (body: string): Script =>
  answer(brotliCompressSync(body), { headers: { "content-encoding": "br" } });

/** A gzip body that ends early although its length says it is complete. */
export const truncatedGzip = (body: string): Script => {
  const whole = gzipSync(body);
  return answer(whole.subarray(0, Math.floor(whole.length / 2)), { headers: { "content-encoding": "gzip" } });
};

/** Half a body, then a TCP reset. */
export const resetMidBody =
  (body: string, status = 200): Script =>
  (socket) => {
    socket.write(head(status, { "content-length": String(Buffer.byteLength(body) * 2) }));
    socket.write(body, () => socket.resetAndDestroy());
  };

/** Half a body, then an orderly end of the connection. */
export const endMidBody =
  (body: string): Script =>
  (socket) => {
    socket.write(head(200, { "content-length": String(Buffer.byteLength(body) * 2) }));
    socket.end(body);
  };

/** The connection ends before a single byte of an answer. */
export const closeWithoutAnswer: Script = (socket) => socket.end();
export const resetWithoutAnswer: Script = (socket) => socket.resetAndDestroy();

/** Nothing, ever. */
export const silence: Script = () => {};

/** Status line and part of a body, then nothing. */
export const silenceMidBody: Script = (socket) => {
  socket.write(head(200, { "content-length": "1000" }));
  socket.write('{"data":[');
};

/** A byte every `everyMs`, without end. */
export const trickle =
  (everyMs: number): Script =>
  (socket) => {
    socket.write(head(200, { "content-length": "1000000" }));
    const timer = setInterval(() => socket.write(" "), everyMs);
    socket.on("close", () => clearInterval(timer));
  };

/** A body without a length: chunks until the client has had enough. */
export const endless: Script = (socket) => {
  socket.write(head(200, { "transfer-encoding": "chunked" }));
  const block = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const pump = () => {
    while (!socket.destroyed && socket.writable && socket.write(block));
  };
  socket.on("drain", pump);
  pump();
};

/** Bytes as given: for answers that are not HTTP. */
export const raw =
  (text: string): Script =>
  (socket) => {
    socket.end(text);
  };

export const redirect = (location: string): Script => answer("", { status: 302, headers: { location } });

/** The first complete request in what has arrived, and the bytes behind it. */
const takeRequest = (received: Buffer, connection: number): { request: SeenRequest; rest: Buffer } | null => {
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const [requestLine = "", ...lines] = received.subarray(0, end).toString("latin1").split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const bodyEnd = end + 4 + Number(headers["content-length"] ?? 0);
  if (received.length < bodyEnd) return null;
  const [method = "", target = ""] = requestLine.split(" ");
  const body = received.subarray(end + 4, bodyEnd).toString("utf8");
  return { request: { method, target, headers, body, connection }, rest: received.subarray(bodyEnd) };
};

/** Starts on a free port of this machine. */
export const startScriptedServer = async (): Promise<ScriptedServer> => {
  const scripts: Script[] = [];
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    let received = Buffer.alloc(0);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that gives up resets the connection: that is part of the play.
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (let taken = takeRequest(received, connection); taken !== null; taken = takeRequest(received, connection)) {
        received = Buffer.from(taken.rest);
        seen.push(taken.request);
        const script = scripts.shift() ?? answer("unscripted", { status: 500 });
        script(socket, taken.request);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the scripted server has no port");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    seen,
    play: (...more) => {
      scripts.push(...more);
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
};
