// Requests that are HTTP, and ask for what they should not get: other paths, other names, other sites, guesses.
import { bytesOf, getting, HOST, headOf, posting, type RawAttack } from "./raw-request.ts";

const UP = [
  "..",
  "%2e%2e",
  "%2E.",
  ".%2e",
  "%252e%252e",
  "..%00",
  "..;",
  "%c0%ae%c0%ae",
  "%uff0e%uff0e",
  "..%c0%af",
  "....//",
  "..\\",
  "..%5c",
  "..%2f",
];

/** Places that only the key opens, reached through places that are open to everybody. */
const PATHS: readonly RawAttack[] = [
  ...getting(
    "path",
    UP.flatMap((up) => [`/page/${up}/v1/accounts`, `/healthz/${up}/v1/accounts`, `/page/${up}/${up}/${up}/etc/passwd`]),
    { closed: true },
  ),
  ...getting(
    "path",
    [
      "/page/../../../package.json",
      "/page//etc/passwd",
      "/page/%2fetc%2fpasswd",
      "/page/C:\\windows\\win.ini",
      "/page/app.js%00.html",
      "/page/app.js/",
      "/page/__proto__",
      "/page/constructor",
      "/page/.",
      "/page/",
      "/%70age/../warehouse.duckdb",
      "/warehouse.duckdb",
      "/state/server-key",
      "/.env",
      "/.git/config",
      "//v1/accounts",
      "/./v1/accounts",
      "/V1/accounts",
      "/v1;/accounts",
      "/v1%2faccounts",
      "/healthz%2f..%2fv1/accounts",
      "/login/v1/accounts",
      "/%",
      "/%zz",
      "/%ff%fe",
      "/v1/accounts/%ff",
      "/v1/accounts/%00",
      "/v1/accounts/%ed%a0%80",
      `/v1/accounts/${"%41".repeat(3_000)}`,
      `${"/a".repeat(5_000)}`,
      "/profiles/%ff/v1/accounts",
      "/profiles/%2e%2e/v1/accounts",
      "/profiles/__proto__/v1/accounts",
      "/profiles/constructor/openapi.json",
      "/profiles//v1/accounts",
      "/profiles/%/openapi.json",
      "/profiles/default%00/v1/accounts",
      "/api/runs/%00",
      "/api/runs/%ff/requests",
      `/api/runs/${"a".repeat(4_000)}`,
      "/api/runs/__proto__",
      "/queues/../v1/accounts",
    ],
    { closed: true },
  ),
  ...getting("absolute address", [
    "http://127.0.0.1/v1/accounts",
    "http://evil.example/v1/accounts",
    "https://evil.example:443/v1/accounts",
    "http://127.0.0.1@evil.example/v1/accounts",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "http:/v1/accounts",
    "///v1/accounts",
    "\\\\evil.example\\v1",
  ]),
];

const reading = (family: string, headers: readonly string[][], more: Partial<RawAttack> = {}): RawAttack[] =>
  headers.map((lines) => ({
    name: `${family}: ${JSON.stringify(lines.join(", ").slice(0, 80))}`,
    bytes: bytesOf(headOf("GET /v1/accounts?perPage=5 HTTP/1.1", [...lines, "Connection: close"])),
    ...more,
  }));

/** Without a key the server answers only to this machine's names, and to no proxy. */
const NAMES: readonly RawAttack[] = [
  ...reading(
    "host",
    [
      "evil.example",
      "evil.example:8737",
      "127.0.0.1.evil.example",
      "evil.example#127.0.0.1",
      "127.0.0.1@evil.example",
      "localhost.evil.example",
      "evil-localhost",
      "0.0.0.0",
      "169.254.169.254",
      "[::ffff:8.8.8.8]",
      "",
      "127.0.0.1, evil.example",
      "evil.example\t127.0.0.1",
      "a".repeat(5_000),
    ].map((host) => [`Host: ${host}`]),
    { closed: true },
  ),
  ...reading("host", [["Host: 127.0.0.1", "Host: evil.example"], ["Host: evil.example", "Host: 127.0.0.1"], []], {
    closed: true,
  }),
  ...reading(
    "forwarding",
    [
      "X-Forwarded-For: 127.0.0.1",
      "X-Forwarded-For: 10.0.0.1, 127.0.0.1",
      "X-Forwarded-Host: 127.0.0.1",
      "X-Forwarded-Proto: https",
      "X-Real-IP: 127.0.0.1",
      "Forwarded: for=127.0.0.1;host=127.0.0.1",
      "Via: 1.1 proxy",
      "x-FORWARDED-for: ::1",
      "X-Forwarded-For: ",
    ].map((line) => [`Host: ${HOST}`, line]),
    { closed: true },
  ),
  ...reading(
    "other site",
    [
      ["Sec-Fetch-Site: cross-site"],
      ["Sec-Fetch-Site: same-site"],
      ["Sec-Fetch-Site: nonsense"],
      ["Origin: http://evil.example"],
      ["Origin: null"],
      ["Origin: http://127.0.0.1.evil.example"],
      ["Origin: http://127.0.0.1:1"],
      ["Origin: javascript:alert(1)"],
      ["Origin: http://127.0.0.1@evil.example"],
    ].map((lines) => [`Host: ${HOST}`, ...lines]),
    { closed: true },
  ),
  ...["/api/query", "/api/syncs", "/api/feedback", "/login", "/logout"].map((path) => ({
    name: `other site: posts to ${path}`,
    bytes: posting(path, '{"sql":"FROM accounts"}', "text/plain", ["Origin: http://evil.example"]),
    closed: true,
  })),
];

const cookie = (value: string) => [`Host: ${HOST}`, `Cookie: ${value}`];
const SESSION = "duckmirror_session";
/** Nothing of it is a key or a session. */
const GUESSES: readonly RawAttack[] = [
  ...reading("cookie", [
    cookie(`${SESSION}=`),
    cookie(`${SESSION}=server`),
    cookie(`${SESSION}=server.99999999999999.aaaa.`),
    cookie(`${SESSION}=server.99999999999999.aaaa.${"A".repeat(43)}`),
    cookie(`${SESSION}=server.1e308.a.b`),
    cookie(`${SESSION}=__proto__.99999999999999.a.b`),
    cookie(`${SESSION}=...`),
    cookie(`${SESSION}=${".".repeat(10_000)}`),
    cookie(`${SESSION}=a; ${SESSION}=b; ${SESSION}=c`),
    cookie(`${SESSION}="server.99999999999999.a.b"`),
    cookie(`=${SESSION}; ; ;;=`),
    cookie(Array.from({ length: 1_000 }, (_, nth) => `c${nth}=1`).join("; ")),
    cookie("a=\xff\xfe"),
  ]),
  ...reading(
    "key",
    [
      "Bearer",
      "Bearer ",
      "Bearer undefined",
      "Bearer null",
      "Bearer dm_",
      `Bearer dm_${"A".repeat(43)}`,
      `Bearer ${"A".repeat(10_000)}`,
      "Bearer a b",
      "Bearer \xff\xfe\x80",
      "Basic YWRtaW46YWRtaW4=",
      "Digest username=x",
      "bearer bearer",
      "Negotiate AAAA",
      "Bearer [object Object]",
    ].map((value) => [`Host: ${HOST}`, `Authorization: ${value}`]),
  ),
  ...[
    "",
    "key=",
    "key[]=a&key=b",
    "key=%00",
    `key=${"a".repeat(200_000)}`,
    "key=%ff%zz",
    "__proto__[key]=1",
    "key=a&next=//evil.example",
    "key=a&next=%0d%0aSet-Cookie:%20x=y",
  ].map((body) => ({
    name: `login: ${JSON.stringify(body.slice(0, 60))}`,
    bytes: posting("/login", body, "application/x-www-form-urlencoded"),
  })),
];

export const CUNNING_REQUESTS: readonly RawAttack[] = [...PATHS, ...NAMES, ...GUESSES];
