// Secrets from settings, files and commands: where they are needed, and never shown.
import { exec, execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import {
  endingOf,
  resolveHashKey,
  resolveServerKey,
  resolveTls,
  resolveToken,
} from "../../../../src/core/config/secrets.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";

const KEY = "0123456789abcdef0123456789abcdef";

const fileOf = (text: string): string => {
  const path = join(aFolder(), "secret");
  writeFileSync(path, text);
  return path;
};
const inFile = (text: string) => ({ kind: "file", path: fileOf(text) }) as const;
/** The error that it ends with. */
const refusalOf = (resolving: Promise<unknown>): Promise<unknown> => resolving.catch((error: unknown) => error);

describe("the key", () => {
  test("is not needed on this machine alone, and is on any other address", async () => {
    expect(await resolveServerKey(configOf(null))).toBeNull();
    await expect(resolveServerKey(configOf(null, { DUCKMIRROR_LISTEN: "0.0.0.0:8737" }))).rejects.toMatchObject({
      code: "SERVER_KEY_MISSING",
      exitCode: 2,
    });
  });

  test("comes from the environment or from a file, whose line end does not count", async () => {
    expect((await resolveServerKey(configOf(null, { DUCKMIRROR_SERVER_KEY: KEY })))?.reveal()).toBe(KEY);
    const config = configOf(null, { DUCKMIRROR_SERVER_KEY_FILE: fileOf(`${KEY}\n`), DUCKMIRROR_LISTEN: "0.0.0.0:1" });
    expect((await resolveServerKey(config))?.reveal()).toBe(KEY);
  });

  test("that is short, missing or more than one word is refused without being repeated", async () => {
    expect(() => configOf(null, { DUCKMIRROR_SERVER_KEY: "hunter2" })).toThrow(/^(?!.*hunter2).*16 or more/s);
    for (const file of ["/none/key", fileOf(""), fileOf("hunter2"), fileOf(`${KEY} ${KEY}`)]) {
      const failure = await refusalOf(resolveServerKey(configOf(null, { DUCKMIRROR_SERVER_KEY_FILE: file })));
      expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
      expect(String(failure)).not.toMatch(/hunter2|0123456789/);
    }
  });

  test("named keys are enough for others to reach the server", async () => {
    expect(await resolveServerKey(configOf(null, { DUCKMIRROR_LISTEN: "0.0.0.0:1" }), true)).toBeNull();
  });
});

describe("the key of hashed fields", () => {
  const hashFields = configOf("exclude_fields: contacts.email\n").excludeFields;
  const from = (hashKey: Parameters<typeof resolveHashKey>[0]["hashKey"]) => resolveHashKey({ hashFields, hashKey });

  test("is not asked for where no field is hashed", async () => {
    expect(await resolveHashKey({ hashFields: [], hashKey: { kind: "file", path: "/none" } })).toBeNull();
  });

  test("comes from the setting, or from a file without the spaces around it", async () => {
    expect((await from({ kind: "value", value: new Secret("k") }))?.reveal()).toBe("k");
    expect((await from(inFile(`\n${KEY} \n`)))?.reveal()).toBe(KEY);
  });

  test("that is missing, unreadable, short or more than a key is refused, without being named", async () => {
    await expect(from(null)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(from({ kind: "file", path: "/none/key" })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    for (const text of ["", KEY.slice(0, 15), `${KEY}\n${KEY}`]) {
      const failure = await refusalOf(from(inFile(text)));
      expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
      if (text !== "") expect(String(failure)).not.toContain(text);
    }
  });
});

// The token from configuration, file or command; failures say where, never what.

test.each([
  ["a configured token, as it is", () => ({ kind: "value", value: new Secret("abc.def") }) as const],
  ["a file, without its line end and a leading Bearer", () => inFile("Bearer abc.def\n")],
  ["what a command prints", () => ({ kind: "command", command: "printf ' abc.def\\n'" }) as const],
])("takes %s", async (_, source) => {
  expect((await resolveToken({ token: source() })).reveal()).toBe("abc.def");
});

test("runs a list of program and arguments without a shell", async () => {
  const command = ["printf", "%s", "$HOME;a"];
  expect((await resolveToken({ token: { kind: "command", command } })).reveal()).toBe("$HOME;a");
});

test("says that none is configured", async () => {
  await expect(resolveToken({ token: null })).rejects.toMatchObject({ code: "TOKEN_MISSING", exitCode: 2 });
});

test("names a file that cannot be read or is empty", async () => {
  await expect(resolveToken({ token: { kind: "file", path: "/no/such/file" } })).rejects.toMatchObject({
    code: "TOKEN_FILE_UNREADABLE",
    message: expect.stringContaining("/no/such/file"),
  });
  const empty = inFile("\n");
  await expect(resolveToken({ token: empty })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(`${empty.path} holds no token`),
  });
});

test("repeats neither what a file held nor what a failing command printed", async () => {
  await expect(resolveToken({ token: inFile("first-secret\nsecond-secret\n") })).rejects.not.toThrow(/-secret/);
  const command = "echo leaked-secret; echo leaked-secret >&2; exit 3";
  const error = await refusalOf(resolveToken({ token: { kind: "command", command } }));
  expect(error).toMatchObject({ code: "TOKEN_COMMAND_FAILED", message: expect.stringContaining("ended with 3") });
  expect(String(error)).not.toContain("leaked-secret");
  expect(error).not.toHaveProperty("cause");
});

test.each([
  ["kill -TERM $$", "it was stopped by SIGTERM"],
  ["yes token", "it printed more than 65536 bytes"],
])("says how the token command %s ended", async (command, ending) => {
  await expect(resolveToken({ token: { kind: "command", command } })).rejects.toMatchObject({
    code: "TOKEN_COMMAND_FAILED",
    message: expect.stringContaining(ending),
  });
});

test("says that a token command ran without an end", async () => {
  const late = await refusalOf(promisify(exec)("exec cat /dev/zero > /dev/null", { timeout: 20 }));
  expect(endingOf(late)).toBe("it ran for 30 seconds without an end, and was stopped");
});

// The server's certificate and key: both or neither, and only if they fit each other.

const tlsFolder = dirForFile();
const made = (name: string) => {
  const [tlsCertFile, tlsKeyFile] = [join(tlsFolder, `${name}.crt`), join(tlsFolder, `${name}.key`)];
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
  await expect(resolveTls({ ...own, tlsCertFile: join(tlsFolder, "none.crt") })).rejects.toMatchObject(
    refusal("none.crt"),
  );
  const broken = join(tlsFolder, "broken.crt");
  writeFileSync(broken, "no certificate\n");
  await expect(resolveTls({ ...own, tlsCertFile: broken })).rejects.toMatchObject(refusal("broken.crt"));
});
