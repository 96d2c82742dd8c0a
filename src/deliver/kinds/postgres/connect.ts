// Connects to Postgres. The packages are optional: they are loaded when a destination of this kind is opened.
import type { Client } from "pg";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";

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
export type Packages = Awaited<ReturnType<typeof loadPackages>>;

/** A connection of its own. Throws DESTINATION_AWAY, DESTINATION_FAILED. */
export const connect = async (
  { Client: PgClient }: Packages,
  { name, url }: Pick<SettingsOf<"postgres">, "name" | "url">,
): Promise<Client> => {
  try {
    const client = new PgClient({
      connectionString: url.reveal(),
      application_name: "duckmirror",
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    // A connection that breaks between two statements; the next statement rejects.
    client.on("error", () => undefined);
    await client.connect();
    const { rows } = await client.query("SHOW server_encoding");
    const encoding: unknown = rows[0]?.server_encoding;
    if (encoding === "UTF8") return client;
    await client.end();
    const detail = `the database has the encoding ${String(encoding)}, the mirror needs UTF8`;
    throw new DuckmirrorError("DESTINATION_FAILED", { name, detail });
  } catch (error) {
    throw postgresError(name, error);
  }
};
