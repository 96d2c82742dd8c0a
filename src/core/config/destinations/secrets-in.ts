// Secrets that are part of an address or of a connection string. PURE.
import { HIDDEN } from "../../secret.ts";

const NAMED_SECRET = /(?:password|passwd|secret|token|key|signature|sig)\w*\s*=\s*('[^']*'|"[^"]*"|[^\s&;,'"]+)/gi;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Parts of an address that must not be shown: its password, and values of parameters that are named like secrets. */
export const secretsIn = (url: string): readonly string[] => {
  const [, password = ""] = /:\/\/[^/?#\s]*?:([^/?#\s]*)@/.exec(url) ?? [];
  const named = [...url.matchAll(NAMED_SECRET)].map(([, value = ""]) => value.replace(/^(['"])(.*)\1$/, "$2"));
  return [password, ...named].filter((text) => text !== "").flatMap((text) => [...new Set([text, decoded(text)])]);
};

/** The address as it may be shown. */
export const withoutSecrets = (url: string): string =>
  secretsIn(url).reduce((text, secret) => text.replaceAll(secret, HIDDEN), url);
