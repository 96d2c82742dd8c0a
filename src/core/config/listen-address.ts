// Listen address of the server: parses the setting, and tests whether only this machine can reach an address. PURE.

// Checks server keys that people choose: their length, and how hard they are to guess. PURE.

const LEAST_BITS = 48;

/** Bits of a text by the frequency of its characters: few for `aaaa…`, about 5.5 per character for Base64. */
const bitsOf = (text: string): number => {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0);
};

/** The problem with a key; null: none. Never contains the key. */
export const keyProblem = (text: string): string | null => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) return "a key has 16 or more characters and no spaces";
  return bitsOf(text) < LEAST_BITS ? "the key is easy to guess; take one from `openssl rand -hex 32`" : null;
};

export interface ListenAddress {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** `127.0.0.1:8737`, `[::1]:0`, `localhost:8737`, or a port alone (this machine only); null for other texts. */
export const parseListen = (text: string): ListenAddress | null => {
  const match = /^(?:(\[[0-9a-f:.]+\]|[a-z0-9.-]+):)?(\d{1,5})$/i.exec(text.trim());
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) return null;
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, "").toLowerCase(), port };
};

/** True when a host, from `parseListen` or a URL, is this machine only. */
export const isLoopbackHost = (host: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
};

/** The address as shown in URLs and messages. */
export const listenText = ({ host, port }: ListenAddress): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;
