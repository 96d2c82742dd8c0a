// A Postgres connection on which every call has a time limit. A server that freezes, or a proxy that drops packets, sends nothing and
// leaves the connection open: then the call destroys the socket, and the server rolls the transaction back.
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Client, QueryResult, QueryResultRow } from "pg";
import { timerMs } from "../../../core/clock.ts";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { formatDuration } from "../../../core/text/units.ts";

// The packages of this kind are optional: they are loaded when a destination of it is opened.

/** The packages of this kind. Throws DESTINATION_PACKAGE_MISSING. */
export const loadPackages = async (name: string) => {
  try {
    const [{ default: pg }, copies] = await Promise.all([import("pg"), import("pg-copy-streams")]);
    return { Client: pg.Client, copyFrom: copies.from };
  } catch (cause) {
    const packages = "pg pg-copy-streams";
    throw new DuckmirrorError("DESTINATION_PACKAGE_MISSING", { name, kind: "postgres", packages }, { cause });
  }
};
type Packages = Awaited<ReturnType<typeof loadPackages>>;

// Connects to Postgres, and says what its errors mean.

const CONNECT_MS = 15_000;
/** Idle time after which the system asks whether the server is still there, ms. */
const KEEP_ALIVE_MS = 10_000;

/** Failures of connection, credentials or room for one more client, as opposed to refusals of a statement. */
const AWAY = /^(08|28|57P0|53300|3D000)|^E[A-Z_]+$/;
const AWAY_TEXT = /connection terminated|timeout expired|connection refused|socket hang up/i;

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

/** An error of the client as one with a code. */
export const postgresError = (name: string, error: unknown): DuckmirrorError => {
  if (error instanceof DuckmirrorError) return error;
  const inner = error instanceof AggregateError ? error.errors[0] : error;
  const detail = detailOf(inner) || codeOf(inner);
  const isAway = AWAY.test(codeOf(inner)) || AWAY_TEXT.test(detail);
  return new DuckmirrorError(isAway ? "DESTINATION_AWAY" : "DESTINATION_FAILED", { name, detail }, { cause: error });
};

/** A connection of its own. Throws DESTINATION_AWAY, DESTINATION_FAILED. */
export const connect = async (
  packages: Packages,
  { name, url, answer_timeout: answerMs }: Pick<SettingsOf<"postgres">, "name" | "url" | "answer_timeout">,
): Promise<Session> => {
  const socket = new Socket();
  try {
    const client = new packages.Client({
      connectionString: url.reveal(),
      application_name: "duckmirror",
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => socket,
    });
    // A connection that breaks between two statements; the next statement rejects.
    client.on("error", () => undefined);
    await client.connect();
    const session = openSession(client, socket, packages, { name, answerMs });
    const { rows } = await session.ask<{ server_encoding: string }>("SHOW server_encoding");
    const encoding = String(rows[0]?.server_encoding);
    if (encoding === "UTF8") return session;
    const detail = `the database has the encoding ${encoding}, the mirror needs UTF8`;
    throw new DuckmirrorError("DESTINATION_FAILED", { name, detail });
  } catch (error) {
    socket.destroy();
    throw postgresError(name, error);
  }
};

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
