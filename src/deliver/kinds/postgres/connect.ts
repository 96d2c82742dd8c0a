// Connects to Postgres, and says what its errors mean.
import { Socket } from "node:net";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import type { Packages } from "./packages.ts";
import { openSession, type Session } from "./session.ts";

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
