// Resolves the secrets of a configuration: token, certificate and keys, from settings, from files that these name, or from a command that
// prints the token.
import { exec, execFile } from "node:child_process";
import { createSecureContext } from "node:tls";
import { promisify } from "node:util";
import { DuckmirrorError, detailOf, hasSystemCode } from "../errors.ts";
import { readGiven } from "../files/given-files.ts";
import { Secret } from "../secret.ts";
import type { Config } from "./config.ts";
import { isLoopbackHost, keyProblem, listenText } from "./setting-parsers.ts";

const COMMAND_TIMEOUT_MS = 30_000;
const LARGEST_TOKEN_BYTES = 64 * 1024;

/** Output of a command: program and arguments, which no shell reads; or a text for the system's own shell. */
const outputOf = async (command: string | readonly string[]): Promise<string> => {
  const options = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: LARGEST_TOKEN_BYTES };
  const { stdout } =
    typeof command === "string"
      ? await promisify(exec)(command, options)
      : await promisify(execFile)(command[0] ?? "", command.slice(1), options);
  return stdout;
};

/** How a command that gave no token ended, from the error of `exec`. Its text and output may contain secrets, so neither appears. */
export const endingOf = (cause: unknown): string => {
  if (hasSystemCode(cause, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"))
    return `it printed more than ${LARGEST_TOKEN_BYTES} bytes`;
  if (!(cause instanceof Error && "code" in cause)) return "it did not run";
  if ("killed" in cause && cause.killed === true)
    return `it ran for ${COMMAND_TIMEOUT_MS / 1000} seconds without an end, and was stopped`;
  return cause.code === null && "signal" in cause
    ? `it was stopped by ${String(cause.signal)}`
    : `it ended with ${String(cause.code)}`;
};

const clean = (text: string, where: string): Secret => {
  const token = text.trim().replace(/^bearer\s+/i, "");
  if (token === "") throw new DuckmirrorError("CONFIG_INVALID", { detail: `${where} holds no token` });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: `${where} holds more than one token, or no plain text` });
  }
  return new Secret(token);
};

/**
 * The token to send. Throws TOKEN_MISSING, TOKEN_FILE_UNREADABLE, TOKEN_COMMAND_FAILED, and CONFIG_INVALID when the
 * value cannot be a token. No message contains the value.
 */
export const resolveToken = async ({ token: source }: Pick<Config, "token">): Promise<Secret> => {
  if (source === null) throw new DuckmirrorError("TOKEN_MISSING");
  if (source.kind === "value") return source.value;
  if (source.kind === "file") {
    try {
      return clean(readGiven(source.path, LARGEST_TOKEN_BYTES), `the token file ${source.path}`);
    } catch (cause) {
      if (cause instanceof DuckmirrorError) throw cause;
      throw new DuckmirrorError("TOKEN_FILE_UNREADABLE", { file: source.path, detail: detailOf(cause) }, { cause });
    }
  }
  let printed: string;
  try {
    printed = await outputOf(source.command);
  } catch (cause) {
    throw new DuckmirrorError("TOKEN_COMMAND_FAILED", { detail: endingOf(cause) });
  }
  return clean(printed, "what token_command printed");
};

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
