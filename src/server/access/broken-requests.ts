// Answers requests that no route sees, because they are no HTTP or have an address that cannot be read.
import type { Socket } from "node:net";
import { type ErrorAnswer, errorAnswer, HttpRefusal } from "../refusals.ts";

const HINT = "Check the client, and a proxy between it and this server.";
const BROKEN = new HttpRefusal(400, "BAD_REQUEST", "This is no valid HTTP request.", HINT);
const REFUSALS: Readonly<Record<string, HttpRefusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new HttpRefusal(408, "TIMEOUT", "The request was not complete in time.", HINT),
  HPE_HEADER_OVERFLOW: new HttpRefusal(
    431,
    "BAD_REQUEST",
    "The request's headers are too large.",
    "Send fewer headers.",
  ),
};
const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** For Node's `clientError`: answers if it can, and closes the connection. */
export const answerBroken = (error: Error & { readonly code?: string }, socket: Socket): void => {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const { status, body } = errorAnswer(REFUSALS[error.code ?? ""] ?? BROKEN);
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Length: ${Buffer.byteLength(text)}`;
  if (socket.writable) socket.write(`${head}\r\nContent-Type: application/json\r\n\r\n${text}`);
  socket.destroy(error);
};

/** For an error of the framework before any route: an address that cannot be read. */
export const unreadableAddress = (): ErrorAnswer =>
  errorAnswer(
    new HttpRefusal(400, "BAD_REQUEST", "The address cannot be read.", "Encode it as RFC 3986 says: % as %25."),
  );
