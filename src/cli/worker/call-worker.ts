// One HTTP exchange with a worker, over TLS if it has a certificate.
import { type ClientRequest, request } from "node:http";
import type { ListenAddress } from "../../core/config/listen-address.ts";
import { listenText } from "../../core/config/listen-address.ts";
import { connectPinned } from "./pinned-tls.ts";

export interface WorkerPlace {
  readonly address: ListenAddress;
  /** PEM of its certificate; null: plain HTTP. */
  readonly cert: string | null;
}

export interface WorkerCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null: none. */
  readonly body: string | null;
}

const answerTo = (sent: ClientRequest): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    sent.once("error", reject).once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("error", reject).once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
  });

/** Rejects if no complete answer comes before `signal` aborts. Follows no redirect. */
export const callWorker = async ({ address, cert }: WorkerPlace, call: WorkerCall, signal: AbortSignal) => {
  const { method, path, body } = call;
  const headers = {
    host: listenText(address),
    connection: "close",
    ...call.headers,
    ...(body === null ? {} : { "content-length": String(Buffer.byteLength(body)) }),
  };
  const socket = cert === null ? null : await connectPinned(address, cert, signal);
  const through = socket === null ? {} : { createConnection: () => socket };
  const sent = request({ host: address.host, port: address.port, method, path, headers, signal, ...through });
  const answered = answerTo(sent);
  sent.end(body ?? undefined);
  return answered;
};
