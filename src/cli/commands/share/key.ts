// duckmirror key: creates, lists and revokes the named keys of page, API and metrics.
import { z } from "zod";
import { isoTimeOrNull } from "../../../core/time.ts";
import {
  addKey,
  KEY_START,
  keysPath,
  ROLES,
  readKeys,
  revokeKey,
  type StoredKey,
  stateOf,
} from "../../../server/access/key-store.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, defineCommand, durationOf, option, optionOf, usage } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";

const ACTIONS = { error: "say add NAME, list or revoke NAME" };

const inputSchema = z.object({
  args: z.tuple([z.enum(["add", "list", "revoke"], ACTIONS)], z.string(), ACTIONS),
  role: optionOf(z.enum(ROLES, { error: `--role is one of ${ROLES.join(", ")}` }).optional(), {
    value: "<role>",
    summary: "read (page, /v1, SQL), operate (syncs, verify, feedback as well) or metrics",
  }),
  expires: option("<d>", "the key ends after this time, e.g. 90d (default: it does not)"),
});
type Input = z.output<typeof inputSchema>;

const nameOf = ({ args: [action, name, ...rest] }: Input): string => {
  if (name === undefined || rest.length > 0) throw usage(`key ${action} takes one name`);
  // A key's own text would be written to the audit trail.
  if (name.startsWith(KEY_START))
    throw usage("that is the text of a key; `duckmirror key list` shows the names of keys");
  if (!/^[\w.-]{1,64}$/.test(name)) throw usage("a key's name has up to 64 letters, digits, dots, dashes, underscores");
  return name;
};

const add = async (input: Input, path: string, { clock, show, hint }: CommandContext) => {
  const name = nameOf(input);
  const { role, expires } = input;
  if (role === undefined) throw usage(`key add needs --role: ${ROLES.join(", ")}`);
  const lastsMs = durationOf("--expires", expires, "12h or 90d");
  const now = clock.now();
  const expiresAt = lastsMs === null ? null : now + lastsMs;
  const secret = await addKey(path, { name, role, expiresAt }, now);
  const code = await show({ name, role, expires_at: isoTimeOrNull(expiresAt), key: secret.reveal() }, () =>
    secret.reveal(),
  );
  hint("This is the only time the key is shown. Programs send it as `Authorization: Bearer KEY`.");
  return code;
};

const list = async (path: string, { clock, terminal, show }: CommandContext) => {
  const keys = await readKeys(path);
  const now = clock.now();
  const line = (key: StoredKey) => ({
    name: key.name,
    role: key.role,
    state: stateOf(key, now),
    created_at: isoTimeOrNull(key.created_at),
    expires_at: isoTimeOrNull(key.expires_at),
  });
  const rows = keys.map((key) => Object.values(line(key)).map((value) => value ?? "never"));
  const heads = ["name", "role", "state", "created at", "expires at"];
  return show(keys.map(line), () =>
    keys.length === 0 ? "There is no key." : renderTable(heads, rows, terminal.columns),
  );
};

const revoke = async (input: Input, path: string, { clock, show }: CommandContext) => {
  const name = nameOf(input);
  await revokeKey(path, name, clock.now());
  return show({ name, revoked: true }, () => `${name} is revoked; servers refuse it from now on`);
};

export const command = defineCommand({
  configure: (cli) => cli.argument("<action>", "add NAME, list, or revoke NAME").argument("[name]", "name of the key"),
  examples: {
    "duckmirror key add grafana --role metrics": "a key for the metrics alone, printed once",
    "duckmirror key add ann --role operate --expires 90d": "a key for a person, for three months",
    "duckmirror key list": "names, roles and expiry dates; the keys themselves are not stored",
    "duckmirror key revoke ann": "takes effect at once, without a restart",
  },
  input: inputSchema,
  run: async (input, context) => {
    // The server reads keys from the data directory of its first profile.
    const [config] = await context.loadProfiles();
    const path = keysPath(config.dataDir);
    const [action] = input.args;
    if (action === "list") return list(path, context);
    const change = () => (action === "add" ? add(input, path, context) : revoke(input, path, context));
    const noted = { action: `key ${action}`, subject: nameOf(input) } as const;
    return audited(config, context, noted, change);
  },
});
