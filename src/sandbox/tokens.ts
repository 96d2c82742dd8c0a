// Access tokens of the sandbox: unsigned JWTs, the same for the same seed. PURE.
import { createRandom, hash } from "./random.ts";

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token of the organization; `key` distinguishes several tokens of one organization. */
export const sandboxToken = (organizationId: string, key: number): string => {
  const random = createRandom(`${organizationId}/token/${key}`);
  return `${part({ alg: "HS256", typ: "JWT" })}.${part({ org: organizationId, key })}.${random.id(43)}`;
};

/** Name of a token in the request history, never the token itself. */
export const apiKeyId = (token: string): string => `key_${hash(token).toString(36)}`;
