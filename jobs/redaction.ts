// Makes the redactor of responses from the configured field rules and the list of erased contacts.
import { createHmac } from "node:crypto";
import { createRedactor, type Redactor } from "../src/api/redact.ts";
import { fieldPath } from "../src/catalog/field-rules.ts";
import type { Config } from "../src/core/config/config.ts";
import { resolveHashKey } from "../src/core/config/secrets/hash-key.ts";
import type { ForgottenList } from "../src/warehouse/archive/forgotten-list.ts";

const pathsOf = (names: readonly string[]) => names.flatMap((name) => fieldPath(name) ?? []);

/** Hash function of `hash_fields`; null where no field is hashed. Throws CONFIG_INVALID. */
export const hasherOf = async (config: Config): Promise<((text: string) => string) | null> => {
  const key = await resolveHashKey(config);
  return key === null ? null : (text) => createHmac("sha256", key.reveal()).update(text).digest("hex");
};

/** The redactor of a data directory; null when there is nothing to redact. Throws CONFIG_INVALID. */
export const redactorOf = async (config: Config, forgotten: ForgottenList): Promise<Redactor | null> => {
  const hashOf = await hasherOf(config);
  return createRedactor({
    exclude: pathsOf(config.excludeFields),
    hash: hashOf === null ? [] : pathsOf(config.hashFields),
    hashOf: hashOf ?? (() => ""),
    forgotten: forgotten.find,
    anyForgotten: forgotten.entries.length > 0,
  });
};
