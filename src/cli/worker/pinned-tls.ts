// A TLS connection to a server that must have exactly one certificate: the one in the configuration of this machine. So a
// certificate that no authority signed is safe, and its name need not be that of the address.
import { X509Certificate } from "node:crypto";
import { connect, type TLSSocket } from "node:tls";

/** Rejects with the error of the connection, or where the server shows another certificate. */
export const connectPinned = (
  { host, port }: { readonly host: string; readonly port: number },
  cert: string,
  signal: AbortSignal,
): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const wanted = new X509Certificate(cert).fingerprint256;
    const socket = connect({ host, port, rejectUnauthorized: false });
    const onAbort = () => void socket.destroy(new Error("no answer in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", reject).once("close", () => signal.removeEventListener("abort", onAbort));
    socket.once("secureConnect", () => {
      if (socket.getPeerX509Certificate()?.fingerprint256 === wanted) return resolve(socket);
      socket.destroy(new Error("the server shows another certificate than tls_cert_file holds"));
    });
  });
