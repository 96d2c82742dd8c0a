// Keys of `serve` and `worker`: the configured one, the named ones, and the one that is created where one is required.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyForWorker, resolveAccess } from "../../../../src/cli/worker/access-keys.ts";
import type { Config } from "../../../../src/core/config/config.ts";
import type { Secret } from "../../../../src/core/secret.ts";
import { addKey, keysPath } from "../../../../src/server/access/key-store.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";

const KEY = "Zm9vYmFyYmF6cXV4MDEyMzQ1";
const here = { host: "127.0.0.1", port: 0 };
const everywhere = { host: "0.0.0.0", port: 0 };
const aConfig = (env: Record<string, string> = {}, dataDir = aFolder()): Config =>
  configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, ...env });
const requiring = (dataDir?: string) => aConfig({ DUCKMIRROR_REQUIRE_KEY: "yes" }, dataDir);
const madeKey = ({ dataDir }: Config) => join(dataDir, "state", "server-key");
/** Access of a server, and the keys that its output will hide. */
const access = async (config: Config, listen = here) => {
  const hidden: (string | undefined)[] = [];
  const found = await resolveAccess(config, listen, { hide: (secret: Secret) => void hidden.push(secret.reveal()) });
  return { ...found, text: found.key?.reveal() ?? null, hidden };
};

test("on this machine no key is needed, and none is created", async () => {
  const config = aConfig();
  expect(await access(config)).toMatchObject({ text: null, open: true, madeIn: null, hidden: [] });
  expect(existsSync(madeKey(config))).toBe(false);
});

test("an address that other machines reach needs a key", async () => {
  await expect(access(aConfig(), everywhere)).rejects.toMatchObject({ code: "SERVER_KEY_MISSING" });
});

test("the configured key is used, and never shown", async () => {
  const config = aConfig({ DUCKMIRROR_SERVER_KEY: KEY, DUCKMIRROR_REQUIRE_KEY: "yes" });
  expect(await access(config, everywhere)).toMatchObject({ text: KEY, open: false, madeIn: null, hidden: [KEY] });
  expect((await keyForWorker(config))?.reveal()).toBe(KEY);
  expect(existsSync(madeKey(config))).toBe(false);
});

test("a named key suffices, on any address", async () => {
  const config = requiring();
  await addKey(keysPath(config.dataDir), { name: "ann", role: "read", expiresAt: null }, 0);
  expect(await access(config, everywhere)).toMatchObject({ text: null, open: false, madeIn: null });
});

test("a required key is created once, for the owner's eyes, and the next start and callers find the same", async () => {
  const config = requiring();
  const first = await access(config);
  expect(first).toMatchObject({ open: false, madeIn: madeKey(config), hidden: [first.text] });
  expect(readFileSync(madeKey(config), "utf8")).toBe(`${first.text}\n`);
  expect(statSync(madeKey(config)).mode & 0o777).toBe(0o600);
  expect(await access(config)).toMatchObject({ text: first.text });
  expect((await keyForWorker(config))?.reveal()).toBe(first.text);
});

test("two processes that start at the same moment have the same key, and leave nothing else behind", async () => {
  const config = requiring();
  const both = await Promise.all([access(config), access(config), access(config)]);
  expect(new Set(both.map(({ text }) => text)).size).toBe(1);
  expect(readdirSync(join(config.dataDir, "state"))).toEqual(["server-key"]);
});

test.each([
  ["nothing", ""],
  ["a line end", "\n"],
  ["zeros, as after a loss of power", "\0".repeat(46)],
  ["the beginning of a key", "dm_q7"],
])("a file that holds %s is no key: a new one is created, and nobody gets in with what was there", async (_, text) => {
  const config = requiring();
  mkdirSync(join(config.dataDir, "state"), { mode: 0o700 });
  writeFileSync(madeKey(config), text, { mode: 0o600 });
  expect(await keyForWorker(config)).toBeNull();
  const found = await access(config);
  expect(found.text?.length).toBeGreaterThan(40);
  expect(readFileSync(madeKey(config), "utf8")).toBe(`${found.text}\n`);
  expect(await access(config)).toMatchObject({ text: found.text });
});

test("a link in the key's place is refused: somebody planted it", async () => {
  const config = requiring();
  mkdirSync(join(config.dataDir, "state"), { mode: 0o700 });
  const target = join(aFolder(), "elsewhere");
  symlinkSync(target, madeKey(config));
  await expect(access(config)).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
  expect(existsSync(target)).toBe(false);
});

test("a worker that requires no key is called without one, although an earlier one created it", async () => {
  const config = requiring();
  await access(config);
  expect(await keyForWorker(aConfig({}, config.dataDir))).toBeNull();
});
