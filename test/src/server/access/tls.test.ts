// The server over TLS, with certificates that openssl makes for the test.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callWorker, connectPinned } from "../../../../src/cli/worker/worker-connection.ts";
import { resolveTls } from "../../../../src/core/config/secrets.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { startServer } from "../../../../src/server/app.ts";
import { forFile } from "../../../support/for-file.ts";
import { serving } from "../../../support/served.ts";
import { dirForFile } from "../../warehouse/temp-dir.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const folder = dirForFile();

const made = (name: string) => {
  const [tlsCertFile, tlsKeyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=mirror.example"];
  execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", tlsKeyFile, "-out", tlsCertFile], { stdio: "ignore" });
  return { tlsCertFile, tlsKeyFile };
};
const [own, others] = [made("own"), made("others")];
const server = await forFile(
  startServer(
    {
      ...serving(),
      key: new Secret(KEY),
      tls: await resolveTls(own),
      limits: { requestMs: 300, checkMs: 20 },
      onFault: () => undefined,
    },
    { host: "127.0.0.1", port: 0 },
  ),
);
const port = Number(new URL(server.url).port);

const never = () => new AbortController().signal;
const address = () => ({ host: "127.0.0.1", port });
const ask = (cert: string | null, path: string, authorization = `Bearer ${KEY}`) =>
  callWorker(
    { address: address(), cert, key: null },
    { method: "GET", path, headers: { authorization }, body: null },
    never(),
  );

test("names an https address and answers there only", async () => {
  expect(server.url).toBe(`https://127.0.0.1:${port}`);
  const cert = readFileSync(own.tlsCertFile, "utf8");
  expect(await ask(cert, "/healthz")).toMatchObject({ status: 200 });
  expect(await ask(cert, "/api/profiles")).toMatchObject({ status: 200 });
  expect(await ask(cert, "/api/profiles", "Bearer wrong")).toMatchObject({ status: 401 });
  await expect(ask(null, "/healthz")).rejects.toThrow();
});

test("a caller hands its key to no server with another certificate", async () => {
  await expect(ask(readFileSync(others.tlsCertFile, "utf8"), "/healthz")).rejects.toThrow(/another certificate/);
});

test("its sessions' cookies leave the browser over TLS only", async () => {
  const headers = { host: "127.0.0.1", "content-type": "application/x-www-form-urlencoded" };
  const socket = await connectPinned(address(), readFileSync(own.tlsCertFile, "utf8"), never());
  const answer = new Promise<string>((resolve) => {
    let heard = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      heard += part;
    });
    socket.once("close", () => resolve(heard));
  });
  const lines = Object.entries({ ...headers, connection: "close", "content-length": `key=${KEY}`.length });
  socket.write(
    `POST /login HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\nkey=${KEY}`,
  );
  expect(await answer).toMatch(/^set-cookie: __Host-duckmirror_session=.*; Secure/im);
});

test("a request that does not come is given up over TLS, too", async () => {
  const socket = await connectPinned(address(), readFileSync(own.tlsCertFile, "utf8"), never());
  socket.write("POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nkey=");
  await new Promise<void>((resolve) =>
    socket
      .on("error", () => undefined)
      .resume()
      .once("close", () => resolve()),
  );
});
