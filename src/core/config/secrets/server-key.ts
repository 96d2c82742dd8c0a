// Key of the server, from the configuration or a file. Required when other machines can reach the server.

import { createSecureContext } from "node:tls";
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import { Secret } from "../../secret.ts";
import type { Config } from "../config.ts";
import { isLoopbackHost, keyProblem, listenText } from "../setting-parsers.ts";

// Certificate and key of the server, from the files that the configuration names.

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

// Key of hashed fields, from the configuration or a file. Without a key, hashes of known addresses could be compared.

/** The key; null where no field is hashed. Throws CONFIG_INVALID. No message contains the key. */
export const resolveHashKey = async ({ hashFields, hashKey }: Pick<Config, "hashFields" | "hashKey">) => {
  if (hashFields.length === 0) return null;
  if (hashKey === null) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: "hash_fields needs hash_key_file (or hash_key)" });
  }
  if (hashKey.kind === "value") return hashKey.value;
  let text: string;
  try {
    text = readGiven(hashKey.path).trim();
  } catch (cause) {
    const detail = `hash_key_file ${hashKey.path} cannot be read: ${detailOf(cause)}`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail }, { cause });
  }
  if (/^[\x21-\x7e]{16,}$/.test(text)) return new Secret(text);
  const detail = `${hashKey.path} must hold a key of 16 or more characters without spaces, and nothing else`;
  throw new DuckmirrorError("CONFIG_INVALID", { detail });
};

const readKeyFile = async (path: string): Promise<Secret> => {
  let text: string;
  try {
    text = readGiven(path).trim();
  } catch (cause) {
    const detail = `server_key_file ${path} cannot be read: ${detailOf(cause)}`;
    throw new DuckmirrorError("CONFIG_INVALID", { detail }, { cause });
  }
  const problem = keyProblem(text);
  if (problem === null) return new Secret(text);
  throw new DuckmirrorError("CONFIG_INVALID", { detail: `${path} must hold a key and nothing else: ${problem}` });
};

/**
 * The configured key for page, API and metrics; null when none is set and either only this machine can reach the server
 * or named keys exist. Throws CONFIG_INVALID, SERVER_KEY_MISSING. No message contains the key.
 */
export const resolveServerKey = async (
  { listen, serverKey }: Pick<Config, "listen" | "serverKey">,
  hasNamedKeys = false,
) => {
  if (serverKey?.kind === "value") return serverKey.value;
  if (serverKey?.kind === "file") return readKeyFile(serverKey.path);
  if (isLoopbackHost(listen.host) || hasNamedKeys) return null;
  throw new DuckmirrorError("SERVER_KEY_MISSING", { listen: listenText(listen) });
};
