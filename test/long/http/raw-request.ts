// Raw HTTP requests: bytes on a socket, and everything that comes back.
import { connect, type Socket } from "node:net";

export interface RawAttack {
  readonly name: string;
  readonly bytes: Buffer;
  /** The server must not answer it with rows, even where no key is required. */
  readonly closed?: boolean;
  /** Most responses to it; more: a request was hidden inside another. */
  readonly answers?: number;
  /** It never ends: the server must give it up. */
  readonly held?: boolean;
}

/** One byte per character, so that a text can hold any byte. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

export const HOST = "127.0.0.1";

/** Head lines of an ordinary request after which the server closes. */
export const ORDINARY = [`Host: ${HOST}`, "Connection: close"] as const;

export const headOf = (line: string, headers: readonly string[] = ORDINARY): string =>
  `${[line, ...headers].join("\r\n")}\r\n\r\n`;

/** Reads of several addresses. */
export const getting = (family: string, targets: readonly string[], more: Partial<RawAttack> = {}): RawAttack[] =>
  targets.map((target) => ({
    name: `${family}: ${JSON.stringify(target.slice(0, 80))}`,
    bytes: bytesOf(headOf(`GET ${target} HTTP/1.1`)),
    ...more,
  }));

/** A request with a body whose length is right. */
export const posting = (path: string, body: string | Buffer, type = "application/json", more: readonly string[] = []) =>
  Buffer.concat([
    bytesOf(
      headOf(`POST ${path} HTTP/1.1`, [
        ...ORDINARY,
        `Content-Type: ${type}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        ...more,
      ]),
    ),
    Buffer.from(body),
  ]);

export interface Heard {
  readonly text: string;
  /** Statuses of the responses, in order. */
  readonly statuses: readonly number[];
}

export interface Conversation {
  readonly socket: Socket;
  /** Resolves when the server has closed the connection. */
  readonly ended: Promise<Heard>;
}

/** Sends bytes and leaves the connection open for the server to close. */
export const converse = (port: number, bytes: Buffer): Conversation => {
  const socket = connect(port, HOST);
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part)).on("error", () => undefined);
  const ended = new Promise<Heard>((resolve) =>
    socket.once("close", () => {
      const text = Buffer.concat(parts).toString("utf8");
      const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));
      resolve({ text, statuses });
    }),
  );
  socket.write(bytes);
  return { socket, ended };
};
