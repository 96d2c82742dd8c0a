// Key of hashed fields, from the configuration or a file. Without a key, hashes of known addresses could be compared.
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import { Secret } from "../../secret.ts";
import type { Config } from "../config.ts";

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
