// One HTTP exchange with a worker. Over TLS the worker shows its certificate; over plain HTTP it proves that it knows the
// key before the key is sent, on the same connection.
import { randomBytes, X509Certificate } from "node:crypto";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type ListenAddress, listenText } from "../../core/config/listen-address.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { jsonOrNull } from "../../core/json.ts";
import type { Secret } from "../../core/secret.ts";
import { PROOF_PATH, proofSchema, provesKey } from "../../server/access/key-proof.ts";

// A TLS connection to a server that must have exactly one certificate: the one in the configuration of this machine. So a
// certificate that no authority signed is safe, and its name need not be that of the address.

/** Rejects with the error of the connection, or where the server shows another certificate. */
export const connectPinned = (
  { host, port }: { readonly host: string; readonly port: number },
  cert: string,
  signal: AbortSignal,
): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const wanted = new X509Certificate(cert).fingerprint256;
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    const onAbort = () => void socket.destroy(new Error("no answer in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", reject).once("close", () => signal.removeEventListener("abort", onAbort));
    socket.once("secureConnect", () => {
      if (socket.getPeerX509Certificate()?.fingerprint256 === wanted) return resolve(socket);
      socket.destroy(new Error("the server shows another certificate than tls_cert_file holds"));
    });
  });

export interface WorkerPlace {
  readonly address: ListenAddress;
  /** PEM of its certificate; null: plain HTTP. */
  readonly cert: string | null;
  /** null: none is sent. */
  readonly key: Secret | null;
}

export interface WorkerCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null: none. */
  readonly body: string | null;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends every request over this one connection. */
class OnConnection extends Agent {
  readonly #socket: Socket;
  #isTaken = false;

  constructor(socket: Socket) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#socket = socket;
  }

  override createConnection(): Socket {
    // What answers on another connection has proven nothing.
    if (this.#isTaken) throw new Error("the worker closed the connection");
    this.#isTaken = true;
    return this.#socket;
  }
}

const exchange = (agent: Agent, host: string, { method, path, body, headers }: WorkerCall, signal: AbortSignal) =>
  new Promise<Answer>((resolve, reject) => {
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request({ agent, method, path, headers: { host, ...headers, ...length }, signal });
    sent.once("error", reject).once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("error", reject).once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body ?? undefined);
  });

/** Rejects if no complete answer comes before `signal` aborts. Follows no redirect. Throws WORKER_REFUSED without a proof. */
export const callWorker = async ({ address, cert, key }: WorkerPlace, call: WorkerCall, signal: AbortSignal) => {
  const socket = cert === null ? connect(address.port, address.host) : await connectPinned(address, cert, signal);
  const agent = new OnConnection(socket);
  const host = listenText(address);
  try {
    if (key !== null && cert === null) {
      const nonce = randomBytes(32).toString("hex");
      const asked = { method: "GET", path: `${PROOF_PATH}?nonce=${nonce}`, headers: {}, body: null };
      const { text } = await exchange(agent, host, asked, signal);
      const proof = proofSchema.safeParse(jsonOrNull(text)).data ?? { salt: "", proofs: [] };
      if (!(await provesKey(proof, key.reveal(), address.port, nonce))) {
        const detail = "what listens there did not prove that it knows the key, which was therefore not sent";
        throw new DuckmirrorError("WORKER_REFUSED", { address: host, detail });
      }
    }
    const auth: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key.reveal()}` };
    return await exchange(agent, host, { ...call, headers: { ...auth, ...call.headers } }, signal);
  } finally {
    agent.destroy();
    socket.destroy();
  }
};
