// A connection whose calls end. A server that freezes, or a proxy that drops packets, leaves the connection open and sends
// nothing: a call that takes too long destroys the socket, and the server undoes the transaction.
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Client, QueryResult, QueryResultRow } from "pg";
import { timerMs } from "../../../core/clock.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { formatDuration } from "../../../core/text/units.ts";
import type { Packages } from "./packages.ts";

/** Statements that no amount of rows makes slow. */
const QUICK_MS = 60_000;
/** Rows of a COPY that were sent, ms until the server takes them. */
const TAKE_MS = 300_000;
/** A server that is asked to end the connection, ms. */
const CLOSE_MS = 5_000;

export interface Session {
  /** Throws the error of Postgres, and DESTINATION_AWAY after the setting `answer_timeout`. */
  query<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<QueryResult<Row>>;
  /** The same for statements that take no time. */
  ask<Row extends QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<QueryResult<Row>>;
  /** Sends chunks to a COPY, for however long the server takes them. Throws as `query`. */
  copy(statement: string, chunks: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
  /** Ends the connection at once; calls reject. */
  cut(): void;
  /** Does not throw. */
  close(): Promise<void>;
}

export interface SessionSettings {
  /** Name of the destination. */
  readonly name: string;
  /** Longest time of a statement, ms. */
  readonly answerMs: number;
}

/** Time that the server has; after it the socket is destroyed. */
const createDeadline = (socket: Socket, name: string) => {
  let timer: NodeJS.Timeout | undefined;
  let late: DuckmirrorError | null = null;
  return {
    start: (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const detail = `it did not answer for ${formatDuration(ms)}`;
        late = new DuckmirrorError("DESTINATION_AWAY", { name, detail });
        socket.destroy();
      }, timerMs(ms));
    },
    stop: () => clearTimeout(timer),
    /** The error of the deadline, if it has passed; else that of the call. */
    errorOf: (error: unknown): unknown => late ?? error,
  };
};

/** `client` is connected through `socket`. */
export const openSession = (
  client: Client,
  socket: Socket,
  { copyFrom }: Pick<Packages, "copyFrom">,
  { name, answerMs }: SessionSettings,
): Session => {
  const deadline = createDeadline(socket, name);
  const within = async <T>(ms: number, call: () => Promise<T>): Promise<T> => {
    deadline.start(Math.min(ms, answerMs));
    try {
      return await call();
    } catch (error) {
      throw deadline.errorOf(error);
    } finally {
      deadline.stop();
    }
  };
  const takeMs = Math.min(TAKE_MS, answerMs);
  // While the next chunk is made, the server owes nothing.
  async function* timed(chunks: AsyncIterable<Buffer>) {
    deadline.stop();
    for await (const chunk of chunks) {
      deadline.start(takeMs);
      yield chunk;
      deadline.stop();
    }
    deadline.start(takeMs);
  }
  return {
    query: (sql, values = []) => within(answerMs, () => client.query(sql, [...values])),
    ask: (sql, values = []) => within(QUICK_MS, () => client.query(sql, [...values])),
    copy: (statement, chunks, signal) =>
      within(takeMs, () =>
        pipeline(Readable.from(timed(chunks), { objectMode: false }), client.query(copyFrom(statement)), { signal }),
      ),
    cut: () => void socket.destroy(),
    close: async () => {
      const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
      await client.end().catch(() => undefined);
      clearTimeout(timer);
    },
  };
};
