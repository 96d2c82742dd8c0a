// Where messages may go: to public addresses, by the address that was checked. A real receiver over sockets.
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import {
  type Attempt,
  GIVE_UP_MS,
  isPublicAddress,
  keysIn,
  postOnce,
  signedHeaders,
  verdictOf,
} from "../../../../src/alerts/sending/post.ts";

// What follows from an attempt, in virtual time.

const now = Date.UTC(2026, 10, 21);
const answer = (status: number, retryAfter: string | null = null): Attempt => ({ kind: "answer", status, retryAfter });
const at = (attempts: number, ageMs = 0, random = 0) => ({ attempts, madeAt: now - ageMs, now, random });

test.each([200, 201, 204, 299])("%d: sent", (status) => {
  expect(verdictOf(answer(status), at(1))).toEqual({ kind: "sent" });
});

test("410 turns the rule off; other refusals and redirects are dead letters at once", () => {
  expect(verdictOf(answer(410), at(1))).toEqual({ kind: "gone", detail: "it answered 410" });
  for (const status of [400, 401, 404, 413]) expect(verdictOf(answer(status), at(1)).kind).toBe("dead");
  expect(verdictOf(answer(302), at(1))).toEqual({
    kind: "dead",
    detail: "it answered 302; redirects are not followed",
  });
});

test("what is temporary is tried again, later each time, up to eight hours, with jitter", () => {
  const away: Attempt = { kind: "away", detail: "connect ECONNREFUSED" };
  const wait = (attempt: Attempt, attempts: number, random = 0) => {
    const verdict = verdictOf(attempt, at(attempts, 0, random));
    return verdict.kind === "retry" ? (verdict.nextAt - now) / 1000 : verdict.kind;
  };
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50].map((attempts) => wait(away, attempts));
  expect(waits).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800]);
  for (const status of [408, 425, 429, 500, 502, 503, 504]) expect(wait(answer(status), 1)).toBe(5);
  expect(wait(away, 1, 0.999)).toBeCloseTo(6, 1);
});

test("Retry-After, in seconds or as a date, makes a wait longer, never shorter, and at most a day", () => {
  const next = (text: string) => {
    const verdict = verdictOf(answer(429, text), at(1));
    return verdict.kind === "retry" ? (verdict.nextAt - now) / 1000 : null;
  };
  expect(next("60")).toBe(60);
  expect(next("0")).toBe(5);
  expect(next("Sat, 21 Nov 2026 00:10:00 GMT")).toBe(600);
  expect(next("99999999")).toBe(86_400);
  expect(next("soon")).toBe(5);
});

test("a message is given up when it is three days old, but not before its third attempt", () => {
  expect(verdictOf(answer(503), at(20, GIVE_UP_MS - 1)).kind).toBe("retry");
  expect(verdictOf(answer(503), at(20, GIVE_UP_MS))).toEqual({ kind: "dead", detail: "it answered 503" });
  expect(verdictOf(answer(503), at(2, GIVE_UP_MS)).kind).toBe("retry");
  expect(verdictOf(answer(200), at(20, GIVE_UP_MS)).kind).toBe("sent");
});

// Signatures, checked by the library of the specification's authors.

const secretOf = (byte: number, bytes = 32) => `whsec_${Buffer.alloc(bytes, byte).toString("base64")}`;

test("the standard's own library verifies a message, with each of two secrets while one replaces the other", () => {
  const [old, fresh, other] = [secretOf(1), secretOf(2, 24), secretOf(3)];
  const body = '{"a":"ü"}';
  const headers = signedHeaders({ id: "msg_1", body }, keysIn(`${old} ${fresh}`) ?? [], Date.now());
  expect(new Webhook(old).verify(body, headers)).toEqual({ a: "ü" });
  expect(new Webhook(fresh).verify(body, headers)).toEqual({ a: "ü" });
  expect(() => new Webhook(other).verify(body, headers)).toThrow("No matching signature");
  expect(() => new Webhook(old).verify('{"a":"u"}', headers)).toThrow("No matching signature");
  expect(() => new Webhook(old).verify(body, { ...headers, "webhook-id": "msg_2" })).toThrow("No matching signature");
});

test("the signature is that of the specification's example", () => {
  const keys = keysIn("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") ?? [];
  const body = '{"test": 2432232314}';
  const headers = signedHeaders({ id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body }, keys, 1_614_265_330_000);
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test.each(["", "whsec_", "hush", secretOf(1).slice(6), secretOf(1, 23), secretOf(1, 65), "whsec_!!!!"])(
  "%j is no secret",
  (text) => {
    expect(keysIn(text)).toBeNull();
    expect(keysIn(`${secretOf(1)} ${text || "x"}`)).toBeNull();
  },
);

// Which addresses are public.

const PRIVATE = [
  ...["127.0.0.1", "127.9.9.9", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  ...["169.254.169.254", "100.100.100.200", "168.63.129.16", "0.0.0.0", "0.1.2.3", "192.0.0.192", "198.18.0.1"],
  ...["192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...["::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1"],
  ...["fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "100::1", "fec0::1"],
  ...["localhost", "", "1.2.3", "fe80::1%eth0"],
];

test.each(PRIVATE)("%j is no public address", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2a00:1450::1"])(
  "%s is one",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

/** A receiver that counts its requests. */
const aReceiver = async (status = 204, headers: Record<string, string> = {}) => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    request.resume().on("end", () => response.writeHead(status, headers).end());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { seen, port: (server.address() as AddressInfo).port };
};

/** Answers for every name, in turn. */
const namesAre = (...answers: readonly (readonly string[])[]) => {
  let asked = 0;
  const resolve: LookupFunction = (_host, options, callback) => {
    const found = answers[Math.min(asked++, answers.length - 1)] ?? [];
    const addresses = found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (options.all === true) callback(null, addresses);
    else callback(null, found[0] ?? "", 4);
  };
  return { resolve, asked: () => asked };
};

const post = (url: string, more: { allowPrivate?: boolean; resolve?: LookupFunction } = {}) => {
  const { allowPrivate = false, resolve } = more;
  const signal = new AbortController().signal;
  return postOnce({ url, headers: {}, body: "{}", allowPrivate, signal }, resolve);
};

test.each([
  ...[
    "https://127.0.0.1",
    "https://[::1]",
    "https://169.254.169.254",
    "https://10.1.2.3",
    "https://[::ffff:127.0.0.1]",
  ],
  // Other spellings of 127.0.0.1.
  ...["https://0x7f.1", "https://2130706433", "https://0177.0.0.1", "https://127.1"],
])("%s is refused without a connection", async (origin) => {
  const { seen, port } = await aReceiver();
  expect(await post(`${origin}:${port}/`)).toMatchObject({ kind: "away", detail: expect.stringContaining("private") });
  expect(seen).toEqual([]);
});

test.each([["127.0.0.1"], ["::1"], ["10.0.0.7"], ["169.254.169.254"], ["::ffff:10.0.0.7"], ["8.8.8.8", "127.0.0.1"]])(
  "a name that resolves to %s is refused",
  async (...addresses) => {
    const { resolve } = namesAre(addresses);
    const found = await post("https://hook.example/", { resolve });
    expect(found).toMatchObject({
      kind: "away",
      detail: expect.stringMatching(/hook\.example is the private address/),
    });
  },
);

test("the machine's own name is refused by the system's resolver, too", async () => {
  const { seen, port } = await aReceiver();
  expect(await post(`https://localhost:${port}/`)).toMatchObject({ kind: "away" });
  expect(seen).toEqual([]);
});

test("a name is resolved once, so that it cannot be a private address when the connection is made", async () => {
  // The second answer would be the private one. The first is a public address that nobody has: no connection.
  const { resolve, asked } = namesAre(["127.0.0.1"], ["8.8.8.8"]);
  await post("https://hook.example/", { resolve });
  expect(asked()).toBe(1);
});

test("a redirect is an answer and is not followed", async () => {
  const target = await aReceiver();
  const { port } = await aReceiver(307, { location: `http://127.0.0.1:${target.port}/` });
  expect(await post(`http://127.0.0.1:${port}/`, { allowPrivate: true })).toMatchObject({
    kind: "answer",
    status: 307,
  });
  expect(target.seen).toEqual([]);
});

test("https is required, and a user name is refused, unless private addresses are allowed", async () => {
  expect(await post("http://hook.example/")).toMatchObject({ detail: expect.stringContaining("https") });
  expect(await post("https://me:hush@hook.example/")).toMatchObject({ detail: expect.not.stringContaining("hush") });
  expect(await post("file:///etc/passwd")).toMatchObject({ kind: "away" });
  const { seen, port } = await aReceiver(429, { "retry-after": "7" });
  const { resolve } = namesAre(["127.0.0.1"]);
  expect(await post(`http://hook.example:${port}/a`, { allowPrivate: true, resolve })).toEqual({
    kind: "answer",
    status: 429,
    retryAfter: "7",
  });
  expect(seen).toEqual(["/a"]);
});

test("no answer: away, without the address in the reason", async () => {
  const found = await post("http://127.0.0.1:1/hush", { allowPrivate: true });
  expect(found).toMatchObject({ kind: "away", detail: expect.not.stringContaining("hush") });
});
