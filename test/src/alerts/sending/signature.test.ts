// Signatures, checked by the library of the specification's authors.
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { keysIn, signedHeaders } from "../../../../src/alerts/sending/signature.ts";

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
