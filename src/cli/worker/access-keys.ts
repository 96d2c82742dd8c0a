// Chooses keys and certificate of the servers of `serve` and `worker`: the configured key and the named ones; with `require_key` and
// neither of them, it creates a key at the first start.
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import type { Config } from "../../core/config/config.ts";
import { resolveServerKey, resolveTls } from "../../core/config/secrets.ts";
import { keyProblem, type ListenAddress, parseListen } from "../../core/config/setting-parsers.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { makeOwnFolder, readOwnIfThere } from "../../core/files/own-files.ts";
import type { Logger } from "../../core/log.ts";
import { type Scrubber, Secret } from "../../core/secret.ts";
import { makeOnce, unwritable } from "../../core/state/shared-file.ts";
import { keysPath, readKeys } from "../../server/access/key-store.ts";
import { type CommandContext, usage } from "../command.ts";
import { faultLog } from "./log.ts";

interface AccessKeys {
  readonly key: Secret | null;
  readonly keyFile: string;
  /** No key is required. */
  readonly open: boolean;
  /** File of a key created here, so that people can log in with it; null: they have a key already. */
  readonly madeIn: string | null;
}

/** The key in the file; null: it holds none, as after a full disk or a loss of power. */
const keyIn = async (file: string): Promise<string | null> => {
  const text = ((await readOwnIfThere(file)) ?? "").trim();
  return keyProblem(text) === null ? text : null;
};

/** The key of this data directory; created if there is none. Throws DATA_DIR_UNWRITABLE, DISK_FULL. */
const ownKey = async (dir: string, file: string): Promise<Secret> => {
  const fresh = `dm_${randomBytes(32).toString("base64url")}`;
  try {
    makeOwnFolder(dir);
    // A file that holds no key is replaced: an empty key would let everybody in.
    return new Secret((await keyIn(file)) ?? (await makeOnce(file, fresh, () => keyIn(file))));
  } catch (cause) {
    if (cause instanceof DuckmirrorError) throw cause;
    throw unwritable(dir, cause);
  }
};

const madeKeyPath = (config: Config): string => join(config.dataDir, "state", "server-key");

/**
 * Key for a command that asks the worker of this data directory: the configured one, else the one that the worker
 * created; null: none is known. Throws CONFIG_INVALID.
 */
export const keyForWorker = async (config: Config): Promise<Secret | null> => {
  const configured = await resolveServerKey(config, true);
  if (configured !== null || !config.requireKey) return configured;
  const text = await keyIn(madeKeyPath(config));
  return text === null ? null : new Secret(text);
};

const accessKeys = async (config: Config, listen: ListenAddress): Promise<AccessKeys> => {
  const keyFile = keysPath(config.dataDir);
  const hasNamed = (await readKeys(keyFile)).length > 0;
  const key = await resolveServerKey({ ...config, listen }, hasNamed || config.requireKey);
  if (key !== null || hasNamed || !config.requireKey) {
    return { key, keyFile, open: key === null && !hasNamed, madeIn: null };
  }
  const madeIn = madeKeyPath(config);
  return { key: await ownKey(dirname(madeIn), madeIn), keyFile, open: false, madeIn };
};

/**
 * Keys and certificates of a server. Throws CONFIG_INVALID, SERVER_KEY_MISSING, DATA_DIR_UNWRITABLE, DISK_FULL: call it before
 * anything starts.
 */
export const resolveAccess = async (config: Config, listen: ListenAddress, scrubber: Pick<Scrubber, "hide">) => {
  const keys = await accessKeys(config, listen);
  const tls = await resolveTls(config);
  if (keys.key !== null) scrubber.hide(keys.key);
  return { ...keys, tls };
};
export type ServerAccess = Awaited<ReturnType<typeof resolveAccess>>;

/** The flag overrides the setting. Throws USAGE. */
export const listenOf = (listen: string | undefined, config: Config): ListenAddress =>
  listen === undefined ? config.listen : addressOf("--listen", listen, 8737);

/** The address that an option was given. `port`: of the example for a wrong one. Throws USAGE. */
export const addressOf = (name: string, text: string, port: number): ListenAddress => {
  const parsed = parseListen(text);
  if (parsed !== null) return parsed;
  throw usage(`${name} ${text} is not an address like 127.0.0.1:${port}`);
};

/** What a server is started with by both `serve` and `worker`. */
export const serverOptions = (
  { userSql, snapshotBytesPerMinute }: Config,
  { key, keyFile, tls }: ServerAccess,
  { clock, version }: Pick<CommandContext, "clock" | "version">,
  logger: Logger,
) => ({ key, keyFile, tls, clock, version, userSql, snapshotBytesPerMinute, onFault: faultLog(logger) });
