// The server's certificate and key: both or neither, and only if they fit each other.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveTls } from "../../../../../src/core/config/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "duckmirror-tls-files-"));
const made = (name: string) => {
  const [tlsCertFile, tlsKeyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", `/CN=${name}.example`];
  execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", tlsKeyFile, "-out", tlsCertFile], { stdio: "ignore" });
  return { tlsCertFile, tlsKeyFile };
};
let own: ReturnType<typeof made>;
let others: ReturnType<typeof made>;
beforeAll(() => {
  own = made("own");
  others = made("others");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const refusal = (...named: readonly string[]) => ({
  code: "CONFIG_INVALID",
  context: { detail: expect.stringMatching(named.map((text) => `(?=.*${text.replaceAll(".", "\\.")})`).join("")) },
});

test("without both settings the server speaks plain HTTP", async () => {
  expect(await resolveTls({ tlsCertFile: null, tlsKeyFile: null })).toBeNull();
});

test("a certificate and its key are read as they are", async () => {
  expect(await resolveTls(own)).toEqual({
    cert: readFileSync(own.tlsCertFile, "utf8"),
    key: readFileSync(own.tlsKeyFile, "utf8"),
  });
});

test("one setting without the other is refused, whichever is missing", async () => {
  const both = refusal("tls_cert_file", "tls_key_file");
  await expect(resolveTls({ ...own, tlsKeyFile: null })).rejects.toMatchObject(both);
  await expect(resolveTls({ ...own, tlsCertFile: null })).rejects.toMatchObject(both);
});

test("the key of another certificate is refused before the server listens, and both files are named", async () => {
  const mixed = { tlsCertFile: own.tlsCertFile, tlsKeyFile: others.tlsKeyFile };
  await expect(resolveTls(mixed)).rejects.toMatchObject(refusal(own.tlsCertFile, others.tlsKeyFile));
});

test("a file that is missing, or holds no certificate, is refused", async () => {
  await expect(resolveTls({ ...own, tlsCertFile: join(folder, "none.crt") })).rejects.toMatchObject(
    refusal("none.crt"),
  );
  const broken = join(folder, "broken.crt");
  writeFileSync(broken, "no certificate\n");
  await expect(resolveTls({ ...own, tlsCertFile: broken })).rejects.toMatchObject(refusal("broken.crt"));
});
