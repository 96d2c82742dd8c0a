// Certificate and keys from the configuration, or from files that it names: of TLS, of the server, of hashed fields.
import { createSecureContext } from "node:tls";
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import { Secret } from "../../secret.ts";
import type { Config } from "../config.ts";
import { isLoopbackHost, keyProblem, listenText } from "../setting-parsers.ts";

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

/** A configured key, or the one in the file that setting `name` names; `problemOf` says what is wrong with the file's text. */
const keyFrom = (
  name: string,
  source: NonNullable<Config["serverKey"]>,
  problemOf: (text: string) => string | null,
): Secret => {
  if (source.kind === "value") return source.value;
  const { path } = source;
  let text: string;
  try {
    text = readGiven(path).trim();
  } catch (cause) {
    throw new DuckmirrorError(
      "CONFIG_INVALID",
      { detail: `${name} ${path} cannot be read: ${detailOf(cause)}` },
      { cause },
    );
  }
  const problem = problemOf(text);
  if (problem === null) return new Secret(text);
  throw new DuckmirrorError("CONFIG_INVALID", { detail: `${path} must hold ${problem}` });
};

/**
 * The key of hashed fields; null where no field is hashed. Without a key, hashes of known addresses could be compared.
 * Throws CONFIG_INVALID. No message contains the key.
 */
export const resolveHashKey = async ({ hashFields, hashKey }: Pick<Config, "hashFields" | "hashKey">) => {
  if (hashFields.length === 0) return null;
  if (hashKey === null) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: "hash_fields needs hash_key_file (or hash_key)" });
  }
  return keyFrom("hash_key_file", hashKey, (text) =>
    /^[\x21-\x7e]{16,}$/.test(text) ? null : "a key of 16 or more characters without spaces, and nothing else",
  );
};

/**
 * The configured key for page, API and metrics; null when none is set and either only this machine can reach the server
 * or named keys exist. Throws CONFIG_INVALID, SERVER_KEY_MISSING. No message contains the key.
 */
export const resolveServerKey = async (
  { listen, serverKey }: Pick<Config, "listen" | "serverKey">,
  hasNamedKeys = false,
) => {
  if (serverKey !== null) {
    return keyFrom("server_key_file", serverKey, (text) => {
      const problem = keyProblem(text);
      return problem === null ? null : `a key and nothing else: ${problem}`;
    });
  }
  if (isLoopbackHost(listen.host) || hasNamedKeys) return null;
  throw new DuckmirrorError("SERVER_KEY_MISSING", { listen: listenText(listen) });
};
