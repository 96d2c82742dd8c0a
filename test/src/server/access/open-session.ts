// A keyring of one key, and a session that was opened with it.
import type { Secret } from "../../../../src/core/secret.ts";
import { createKeyring } from "../../../../src/server/access/key-store.ts";
import { createSessions } from "../../../../src/server/access/sessions.ts";

export const checksOf = (secret: Secret | null) => {
  const keyring = createKeyring(secret, null, () => undefined);
  return { keyring, sessions: createSessions(keyring) };
};

export const sessionOf = (secret: Secret, now: number): string => {
  const { keyring, sessions } = checksOf(secret);
  const holder = keyring.holderOf(secret.reveal(), now);
  if (holder === null) throw new Error("the key is not taken");
  return sessions.open(holder, now);
};
