// Redis over TLS with a user of its own, as docs/WORKER.md says: worker and trigger as processes.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { documentedUser } from "../support/documented-user.ts";
import { forFile } from "../support/for-file.ts";
import { startRedis } from "../support/redis.ts";
import { aSandbox, type Env, runBuilt, startBuilt, triggerWell, WORKER, workerEnv } from "./built-cli.ts";
import { differences } from "./compare.ts";
import { readService } from "./service-reader.ts";
import { tempFolder } from "./temp-folder.ts";

const PASSWORD = "a-password-of-its-own";

/** An authority, and a certificate for 127.0.0.1 that it signed. */
const certificates = () => {
  const dir = tempFolder();
  const file = (name: string) => join(dir, name);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...kind, "-subj", "/CN=authority", "-keyout", file("ca.key"), "-out", file("ca.crt"));
  openssl("req", ...kind, "-subj", "/CN=redis", "-keyout", file("redis.key"), "-out", file("redis.csr"));
  writeFileSync(file("names"), "subjectAltName=IP:127.0.0.1\n");
  const signer = ["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile", file("names")];
  openssl("x509", "-req", "-in", file("redis.csr"), ...signer, "-out", file("redis.crt"));
  return { ca: file("ca.crt"), cert: file("redis.crt"), key: file("redis.key") };
};

const sandbox = await aSandbox({ accounts: 4 });
const { ca, ...tls } = certificates();
const redis = await forFile(startRedis({ user: documentedUser(PASSWORD), tls }));

const addressOf = (scheme: string, password: string) => `${scheme}://duckmirror:${password}@127.0.0.1:${redis.port}`;

const env = (more: Env = {}) =>
  workerEnv(sandbox, { REDIS_URL: addressOf("rediss", PASSWORD), NODE_EXTRA_CA_CERTS: ca, ...more });

test("a trigger starts a sync that a worker carries out, and the mirror is the service's", async () => {
  const settings = env();
  const worker = startBuilt(WORKER, settings);
  const { warehouse } = await triggerWell(settings, [], worker.err);
  expect(await differences(warehouse, await readService(sandbox))).toEqual([]);
  worker.child.kill("SIGTERM");
  const { out, err } = await worker.ended;
  expect(out + err).not.toContain(PASSWORD);
});

const WRONG = "another-password";
test.each([
  { name: "an unknown authority", more: { NODE_EXTRA_CA_CERTS: "" }, says: /certificate/ },
  { name: "no TLS", scheme: "redis", says: /./ },
  { name: "a wrong password", password: WRONG, says: /WRONGPASS|[Pp]assword/, ends: [2, "REDIS_REFUSED"] },
])("$name: refused or not reached, without the password", async (attempt) => {
  const { more = {}, scheme = "rediss", password = PASSWORD, says, ends = [5, "REDIS_UNAVAILABLE"] } = attempt;
  const { code, out, err } = await runBuilt(
    ["trigger", "--json"],
    env({ ...more, REDIS_URL: addressOf(scheme, password) }),
  );
  const { error } = z.object({ error: z.object({ code: z.string(), message: z.string() }) }).parse(JSON.parse(out));
  expect([code, error.code]).toEqual(ends);
  expect(error.message).toMatch(says);
  expect(out + err).not.toContain(password);
});
