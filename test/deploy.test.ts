// What is handed to operators: compose file, Dockerfile and examples name only settings and commands that exist.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { COMMANDS } from "../src/cli/command-table.ts";
import { envName } from "../src/core/config/config.ts";
import { settingList } from "../src/core/config/settings.ts";
import { documentedUser } from "./support/documented-user.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const pages = readdirSync(new URL("../docs/deploy", import.meta.url)).map((name) => `docs/deploy/${name}`);
const files = ["docker-compose.yml", "Dockerfile", ...pages];

const KNOWN = [...settingList().map(({ name }) => envName(name)), "DUCKMIRROR_CONFIG", "DUCKMIRROR_PROFILE"];

const service = z.object({
  image: z.string(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).optional(),
  profiles: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  networks: z.array(z.string()).optional(),
});
const compose = z
  .object({
    services: z.record(z.string(), service),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
    networks: z.unknown(),
  })
  .parse(parse(read("docker-compose.yml"), { merge: true }));

test.each(files)("%s names only settings and commands that exist", (file) => {
  const text = read(file);
  const variables = new Set(text.match(/\bDUCKMIRROR_[A-Z_]*[A-Z]\b/g));
  expect([...variables].filter((name) => !KNOWN.includes(name))).toEqual([]);
  const code = file.endsWith(".md")
    ? [...text.matchAll(/```[^`]*```|`[^`]*`/g)].map(([found]) => found).join("\n")
    : text;
  const said = file.endsWith(".md")
    ? /(?:(?<!user )\bduckmirror|main\.js) ([a-z]+)\b(?=[ \n;`'"])/g
    : /main\.js ([a-z]+)/g;
  const commands = [...code.matchAll(said)].map(([, word]) => word);
  expect(commands.filter((word) => !COMMANDS.some(({ name }) => name === word))).toEqual([]);
});

describe("docker-compose.yml", () => {
  const { services } = compose;

  test("keeps jobs in a Redis that writes them down and evicts none of them", () => {
    expect(services.redis?.command.join(" ")).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/);
    expect(services.redis?.volumes).toEqual(["redis:/data"]);
  });

  test("starts a worker alone, and the sandbox only when asked to", () => {
    const profiles = Object.entries(services).map(([name, { profiles = [] }]) => [name, ...profiles]);
    expect(profiles).toEqual([["redis"], ["worker"], ["sandbox", "sandbox"]]);
  });

  test("lets into Redis one user with the rights of the documents, from a network without an outside", () => {
    const [name, ...rules] = documentedUser(`\${REDIS_PASSWORD:?put REDIS_PASSWORD into .env}`);
    expect(services.redis?.command.slice(-rules.length - 5)).toEqual([
      "--user",
      "default",
      "off",
      "--user",
      name,
      ...rules,
    ]);
    expect(services.worker?.environment?.REDIS_URL).toMatch(
      /^redis:\/\/duckmirror:\$\{REDIS_PASSWORD:\?[^}]+\}@redis:6379$/,
    );
    expect([services.redis, services.worker, services.sandbox].map((one) => one?.networks)).toEqual([
      ["queue"],
      ["default", "queue"],
      undefined,
    ]);
    expect(compose.networks).toEqual({ queue: { internal: true } });
    expect(read("docs/deploy/kubernetes.md")).toContain(`user ${documentedUser("PASSWORD").join(" ")}`);
  });

  test("gives no container a right of the system, a way to get one, or a root to write to", () => {
    for (const [name, { read_only, cap_drop, security_opt, tmpfs }] of Object.entries(services)) {
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        name,
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
      expect(tmpfs).toContain("/tmp");
    }
  });

  test("shows the page to this machine only, with a key, and holds no secret itself", () => {
    expect(services.worker?.ports).toEqual(["127.0.0.1:8737:8737"]);
    expect(services.worker?.environment?.DUCKMIRROR_SERVER_KEY_FILE).toBe("/run/secrets/server_key");
    expect(Object.keys(compose.secrets)).toEqual(["token", "server_key"]);
    for (const { environment = {} } of Object.values(services)) {
      expect(Object.keys(environment)).not.toContain("DUCKMIRROR_TOKEN");
    }
  });
});

describe("Dockerfile", () => {
  const text = read("Dockerfile");

  test("builds in one stage and runs in another, not as root, with a health check and signals that reach node", () => {
    // Both from one argument, so that one digest pins both.
    expect(text.match(/^FROM .*/gm)).toEqual(["AS build", ""].map((end) => `FROM $\{NODE_IMAGE} ${end}`.trim()));
    expect(text).toMatch(/^USER node$/m);
    expect(text).not.toMatch(/^COPY .*--chown/m);
    expect(text).toMatch(/^HEALTHCHECK /m);
    expect(text).toMatch(/^ENTRYPOINT \["node", /m);
  });

  test("copies only what the build needs, and .dockerignore lets exactly that in", () => {
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = ""]) => names.split(" "));
    const allowed = [...read(".dockerignore").matchAll(/^!(.+)$/gm)].map(([, name]) => name);
    expect(copied.map((name) => name.replace("./", "")).sort()).toEqual([...allowed].sort());
  });
});
