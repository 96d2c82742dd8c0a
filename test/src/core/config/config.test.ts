// Configuration: precedence, parsing, messages that name the setting and where it was set, and no secret in any.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Config,
  envName,
  type FlagValues,
  loadConfig,
  resolveConfig,
} from "../../../../src/core/config/config.ts";
import { parseConfigFile } from "../../../../src/core/config/config-file.ts";
import { settingList } from "../../../../src/core/config/settings.ts";
import { DuckmirrorError, isCode } from "../../../../src/core/errors.ts";
import { aFolder } from "../../../support/cli.ts";

// Names of settings in the environment and in the file, and what is said of those that are none.

test("a setting is in capitals behind the prefix; Redis has its usual name", () => {
  expect([envName("max_credits"), envName("redis_url")]).toEqual(["DUCKMIRROR_MAX_CREDITS", "REDIS_URL"]);
});

const vocabulary = {
  streams: ["accounts", "contacts", "signals", "news_articles", "usage"],
  content: ["articleBody", "fullTranscript", "news_articles.articleBody"],
  comesWith: { owners: "accounts", usage_requests: "usage" },
  fields: {
    contacts: {
      excludable: ["email", "phone", "mainScore"],
      hashable: ["email", "phone"],
      needed: { id: "it is the key" },
    },
  },
};
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJvcmciOiJvcmdfMSJ9.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";

const given = (parts: { flags?: FlagValues; env?: Record<string, string>; yaml?: string }): Config =>
  resolveConfig({
    flags: parts.flags ?? {},
    env: parts.env ?? {},
    file: parts.yaml === undefined ? null : parseConfigFile(parts.yaml, "/etc/mirror/duckmirror.yaml"),
    cwd: "/home/ana",
    vocabulary,
  });

const refusal = (parts: Parameters<typeof given>[0]): string => {
  try {
    given(parts);
  } catch (error) {
    if (isCode(error, "CONFIG_INVALID")) return error.message;
    throw error;
  }
  throw new Error("the configuration was accepted");
};

describe("precedence", () => {
  test("a flag beats the environment, which beats the file, which beats the default", () => {
    const yaml = "max_page_size: 50\npace: EVEN\n";
    expect(given({ yaml }).pace).toBe("even");
    const env = { DUCKMIRROR_MAX_PAGE_SIZE: "60" };
    expect(given({}).maxPageSize).toBe(1000);
    expect(given({ yaml }).maxPageSize).toBe(50);
    expect(given({ yaml, env }).maxPageSize).toBe(60);
    expect(given({ yaml, env, flags: { max_page_size: "70" } }).maxPageSize).toBe(70);
  });

  test("an empty or blank environment variable counts as unset", () => {
    const config = given({
      env: { DUCKMIRROR_MAX_CREDITS: "", DUCKMIRROR_RATE_LIMIT: "  " },
      yaml: "max_credits: 7\n",
    });
    expect(config.maxCredits).toBe(7);
    expect(config.rateLimitPerMinute).toBeNull();
  });

  test("an empty or null value in the file leaves the setting at its default", () => {
    const config = given({ yaml: "max_page_size:\nreserve: ~\nmax_credits: null\nrate_limit: ''\n" });
    expect([config.maxPageSize, config.reserveCredits, config.maxCredits]).toEqual([1000, 0, null]);
  });

  test("a token in the environment beats a token file named in the file, and a token file beats a command there", () => {
    const yaml = "token_file: token.txt\ntoken_command: pass show it\n";
    expect(given({ yaml }).token).toEqual({ kind: "file", path: "/etc/mirror/token.txt" });
    expect(given({ yaml, env: { DUCKMIRROR_TOKEN: JWT } }).token?.kind).toBe("value");
    expect(given({ yaml, env: { DUCKMIRROR_TOKEN_FILE: "t" } }).token).toEqual({ kind: "file", path: "/home/ana/t" });
  });

  test("paths in the file start at the file, others where the command was typed, and ~ is the home folder", () => {
    expect(given({ yaml: "data_dir: mirror\n" }).dataDir).toBe("/etc/mirror/mirror");
    expect(given({ env: { DUCKMIRROR_DATA_DIR: "mirror" } }).dataDir).toBe("/home/ana/mirror");
    expect(given({}).dataDir).toBe("/home/ana/data");
    expect(given({ yaml: "data_dir: ~/m\n", env: { HOME: "/home/ana" } }).dataDir).toBe("/home/ana/m");
  });
});

describe("what settings accept", () => {
  test("the environment of the contract is understood", () => {
    const config = given({
      env: {
        DUCKMIRROR_BASE_URL: "https://gateway.example.com/intel/prefix/",
        DUCKMIRROR_TOKEN: `Bearer ${JWT}`,
        DUCKMIRROR_DATA_DIR: "/srv/mirror",
        DUCKMIRROR_RATE_LIMIT: "pro",
        DUCKMIRROR_MAX_CREDITS: "500",
        DUCKMIRROR_COMPANIES: "example.com, ACME,https://www.example.org/,example.com",
        DUCKMIRROR_STREAMS: "accounts,signals",
        DUCKMIRROR_CONTENT: "articleBody,fullTranscript",
        REDIS_URL: "redis://:secret@localhost:6379/1",
      },
    });
    expect(config).toMatchObject({
      baseUrl: "https://gateway.example.com/intel/prefix",
      dataDir: "/srv/mirror",
      rateLimitPerMinute: 300,
      maxCredits: 500,
      companies: ["example.com", "ACME", "https://www.example.org/"],
      streams: ["accounts", "signals"],
      content: ["articleBody", "fullTranscript"],
    });
    expect(config.token?.kind === "value" && config.token.value.reveal()).toBe(JWT);
    expect(config.redisUrl?.reveal()).toBe("redis://:secret@localhost:6379/1");
  });

  test("durations, sizes, shares and maps are read from the file and from the environment alike", () => {
    const yaml = "max_age:\n  accounts: 12h\n  signals: 2d\nmax_body_bytes: 1MiB\nmax_delete_share: 0.25\n";
    const env = {
      DUCKMIRROR_MAX_AGE: "accounts=12h,signals=2d",
      DUCKMIRROR_MAX_BODY_BYTES: "1048576",
      DUCKMIRROR_MAX_DELETE_SHARE: ".25",
    };
    for (const config of [given({ yaml }), given({ env })]) {
      expect(config.maxAgeMs).toEqual({ accounts: 43_200_000, signals: 172_800_000 });
      expect(config.maxBodyBytes).toBe(1_048_576);
      expect(config.maxDeleteShare).toBe(0.25);
    }
  });

  test("company ids in the file keep every digit, also without quotes", () => {
    expect(given({ yaml: "companies: [123456789012345678901, 007, no]\n" }).companies).toEqual([
      "123456789012345678901",
      "007",
      "no",
    ]);
  });

  test("ledger_retention_days keeps a year and a month by default, and for ever on request", () => {
    expect(given({}).ledgerRetentionDays).toBe(400);
    expect(given({ yaml: "ledger_retention_days: keep\n" }).ledgerRetentionDays).toBeNull();
  });
});

describe("refusals", () => {
  test("name the setting, the variable and what was expected", () => {
    expect(refusal({ env: { DUCKMIRROR_MAX_CREDITS: "many" } })).toContain(
      'max_credits (DUCKMIRROR_MAX_CREDITS): "many" is not a whole number of credits',
    );
    expect(refusal({ flags: { max_credits: "-1" } })).toContain("max_credits (--max-credits)");
  });

  test("name the file and the line", () => {
    expect(refusal({ yaml: "# mine\n\nview: table\n" })).toContain(
      'view (/etc/mirror/duckmirror.yaml, line 3): "table" is not one of default, export',
    );
  });

  test("name every faulty setting at once", () => {
    const message = refusal({ yaml: "view: table\npace: fast\n", env: { DUCKMIRROR_RESERVE: "x" } });
    for (const name of ["view", "pace", "reserve"]) expect(message).toContain(`${name} (`);
  });

  test("suggest the setting, stream or field that was meant", () => {
    expect(refusal({ yaml: "max_credit: 5\n" })).toContain("line 1) is not a setting. Did you mean max_credits?");
    expect(refusal({ env: { DUCKMIRROR_STREAMS: "acounts" } })).toContain("Did you mean accounts?");
    expect(refusal({ env: { DUCKMIRROR_STREAMS: "," } })).toContain("names no stream; leave it out to mirror all");
    expect(refusal({ env: { DUCKMIRROR_STREAMS: "news-articles" } })).toContain("Did you mean news_articles?");
    expect(refusal({ env: { DUCKMIRROR_CONTENT: "articlebody" } })).toContain("Did you mean articleBody?");
    expect(refusal({ env: { DUCKMIRROR_RATE_LIMIT: "prro" } })).toContain("Did you mean pro?");
  });

  test("tell with which stream a table comes along", () => {
    expect(refusal({ flags: { streams: ["owners"] } })).toContain(
      "owners is no stream of its own: it comes with accounts",
    );
  });

  test.each([
    "ftp://example.com",
    "example.com",
    "https://user:pw@example.com",
    "https://example.com/?token=abc",
    "https://example.com/#x",
  ])("refuse %s as an address", (address) => {
    expect(refusal({ env: { DUCKMIRROR_BASE_URL: address } })).toContain("base_url (DUCKMIRROR_BASE_URL)");
  });

  test("a variable that looks like a mistyped setting is warned about, others are left alone", () => {
    const { warnings } = given({ env: { DUCKMIRROR_MAX_CREDIT: "5", DUCKMIRROR_PORT_80_TCP_ADDR: "10.0.0.1" } });
    expect(warnings).toEqual([
      "DUCKMIRROR_MAX_CREDIT is not a setting and is ignored. Did you mean DUCKMIRROR_MAX_CREDITS?",
    ]);
  });

  test("any text in any setting is either accepted or refused by name, and never breaks", () => {
    const names = settingList().map((setting) => setting.name);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), (name, text) => {
        try {
          resolveConfig({ flags: { [name]: text }, env: {}, file: null, cwd: "/", vocabulary });
        } catch (error) {
          expect(error).toBeInstanceOf(DuckmirrorError);
          expect(String(error)).toContain(`${name} (`);
        }
      }),
    );
  });
});

describe("secrets", () => {
  test("a configuration that is printed, inspected or turned to JSON shows neither token nor Redis password", () => {
    const config = given({ env: { DUCKMIRROR_TOKEN: JWT, REDIS_URL: "redis://:hunter22@r:6379" } });
    for (const text of [JSON.stringify(config), inspect(config, { depth: null }), `${config.redisUrl}`]) {
      expect(text).not.toContain(JWT);
      expect(text).not.toContain("hunter22");
    }
  });

  test("a token pasted into any setting is not repeated by the message that refuses it", () => {
    for (const { name } of settingList()) {
      try {
        resolveConfig({ flags: { [name]: `${JWT} x` }, env: {}, file: null, cwd: "/", vocabulary });
      } catch (error) {
        expect(String(error), name).not.toContain(JWT);
      }
    }
    expect(refusal({ env: { DUCKMIRROR_TOKEN_FILE: JWT } })).toContain("this is a token, not the path");
  });
});

describe("files on disk", () => {
  test("duckmirror.yaml in the working directory is read without being named, and none is needed", () => {
    const cwd = aFolder();
    expect(loadConfig({ env: {}, cwd, vocabulary }).file).toBeNull();
    writeFileSync(join(cwd, "duckmirror.yaml"), "pace: even\n");
    expect(loadConfig({ env: {}, cwd, vocabulary })).toMatchObject({
      pace: "even",
      file: join(cwd, "duckmirror.yaml"),
    });
  });

  test("--config and DUCKMIRROR_CONFIG name another file, which must exist", () => {
    const cwd = aFolder();
    writeFileSync(join(cwd, "other.yaml"), "pace: even\n");
    expect(loadConfig({ env: {}, cwd, vocabulary, configPath: "other.yaml" }).pace).toBe("even");
    expect(loadConfig({ env: { DUCKMIRROR_CONFIG: "other.yaml" }, cwd, vocabulary }).pace).toBe("even");
    expect(() => loadConfig({ env: {}, cwd, vocabulary, configPath: "gone.yaml" })).toThrow(
      /gone\.yaml cannot be read/,
    );
  });
});
