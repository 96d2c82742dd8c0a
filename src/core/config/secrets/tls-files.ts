// Certificate and key of the server, from the files that the configuration names.
import { createSecureContext } from "node:tls";
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import type { Config } from "../config.ts";

export interface TlsFiles {
  /** PEM: the server's certificate, then those between it and its root. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/** null: plain HTTP. Throws CONFIG_INVALID where one of the files is missing, unreadable, or does not fit the other. */
export const resolveTls = async ({ tlsCertFile, tlsKeyFile }: Pick<Config, "tlsCertFile" | "tlsKeyFile">) => {
  if (tlsCertFile === null && tlsKeyFile === null) return null;
  if (tlsCertFile === null || tlsKeyFile === null) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: "tls_cert_file and tls_key_file belong together" });
  }
  try {
    const [cert, key] = [readGiven(tlsCertFile), readGiven(tlsKeyFile)];
    createSecureContext({ cert, key });
    return { cert, key } satisfies TlsFiles;
  } catch (cause) {
    const detail = `tls_cert_file ${tlsCertFile} and tls_key_file ${tlsKeyFile} cannot be used: ${detailOf(cause)}`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail }, { cause });
  }
};
