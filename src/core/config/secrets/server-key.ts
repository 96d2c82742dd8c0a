// Key of the server, from the configuration or a file. Required when other machines can reach the server.
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import { Secret } from "../../secret.ts";
import type { Config } from "../config.ts";
import { keyProblem } from "../key-text.ts";
import { isLoopbackHost, listenText } from "../listen-address.ts";

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
