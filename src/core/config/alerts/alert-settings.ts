// Setting `alerts`: rules that send what changed in the mirror, or how the mirror is doing, to a webhook or a chat.
import { isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { Secret } from "../../secret.ts";
import { oneOf, textLike } from "../destinations/secrets-in.ts";
import { duration, one, structure, whole, yesNo } from "../setting-parsers.ts";

/** What a rule waits for: rows of its query over the changes, or a state of the program. */
export const ALERT_EVENTS = [
  "changes",
  "run_failed",
  "data_old",
  "credits_short",
  "schema_drift",
  "rows_unusual",
  "unconfirmed",
  "check_failed",
  "delivery_late",
  "heartbeat",
] as const;
export type AlertEventKind = (typeof ALERT_EVENTS)[number];
/** Events that begin and end. */
export type StateEventKind = Exclude<AlertEventKind, "changes" | "heartbeat">;

const variable = textLike("the name of an environment variable", /^[A-Za-z_]\w*$/);

const ruleSchema = z.strictObject({
  /** Unique; names the rule in commands, messages and the folder of its state. */
  name: textLike("a name of letters, digits, - and _", /^[A-Za-z0-9][\w-]{0,62}$/),
  event: oneOf(ALERT_EVENTS),
  /** A query over `changes`, with column n: docs/ALERTS.md. For event changes. */
  sql: textLike("a query", /\S/).optional(),
  url: textLike("an http address", /^https?:\/\/\S+$/).optional(),
  /** Environment variable that holds the address. */
  url_env: variable.optional(),
  /** json: a signed webhook. slack: `{"text": …}`. teams: an adaptive card. */
  format: oneOf(["json", "slack", "teams"]).prefault("json"),
  /** Environment variable that holds the secret, `whsec_…`; several, separated by spaces, while it is changed. */
  secret_env: variable.optional(),
  /** File that holds it. */
  secret_file: textLike("a path", /\S/).optional(),
  /** Most events in one message. */
  batch: one("a whole number from 1 to 1000", (text) => whole(text, 1, 1000)).prefault(20),
  /** For data_old: how long after max_age the data may stay as it is; for delivery_late: how far behind one may be; ms. */
  after: duration.optional(),
  /** Send also to private addresses and over http. */
  allow_private: yesNo.prefault(false),
});
type Written = z.output<typeof ruleSchema>;

/** Data may be this much older than max_age before `data_old` begins, as in docs/monitoring/alerts.yml, ms. */
const DEFAULT_AFTER_MS = 36 * 3_600_000;

export interface AlertSettings extends Pick<Written, "name" | "event" | "format" | "batch"> {
  /** Empty for events of the program's own state. */
  readonly sql: string;
  /** Empty where a variable in `unset` should hold it. */
  readonly url: Secret;
  /** Source of the secrets; null: none are needed. */
  readonly secret: { readonly file: string } | { readonly value: Secret } | null;
  /** Variables of the environment that a rule names and that are not set. */
  readonly unset: readonly string[];
  readonly afterMs: number;
  readonly allowPrivate: boolean;
}

/** Events with the setting `after`. */
const TIMED: readonly AlertEventKind[] = ["data_old", "delivery_late"];

const problemsOf = (rule: Written): readonly string[] => {
  const { event, sql, url, url_env: urlEnv, format, secret_env: env, secret_file: file, after } = rule;
  const secrets = [env, file].filter((source) => source !== undefined).length;
  return [
    event === "changes" && sql === undefined ? "event changes needs sql" : "",
    event !== "changes" && sql !== undefined ? `event ${event} takes no sql` : "",
    !TIMED.includes(event) && after !== undefined ? `after is for event ${TIMED.join(" and ")}` : "",
    (url === undefined) === (urlEnv === undefined) ? "needs either url or url_env" : "",
    format === "json" && secrets !== 1 && !(event === "heartbeat" && secrets === 0)
      ? "needs either secret_env or secret_file"
      : "",
    format !== "json" && secrets > 0 ? `format ${format} takes no secret` : "",
    url?.startsWith("http:") && !rule.allow_private ? "the address must begin with https, or set allow_private" : "",
  ].filter((problem) => problem !== "");
};

const listSchema = z
  .array(ruleSchema, { error: "is a list of rules, each with name, event and url or url_env" })
  .superRefine((list, ctx) => {
    for (const [nth, rule] of list.entries()) {
      const issue = (message: string) => ctx.addIssue({ code: "custom", path: [nth], message });
      if (list.findIndex(({ name }) => name === rule.name) < nth) issue(`${rule.name} is the name of two rules`);
      for (const problem of problemsOf(rule)) issue(`${rule.name}: ${problem}`);
    }
  });

/** Rules for a start; `init` writes them, docs/ALERTS.md shows them. */
export const EXAMPLE_RULES = [
  {
    name: "funding",
    event: "changes",
    sql: "SELECT c.n, a.name AS account, a.main_score, s.headline, s.date FROM changes AS c JOIN main.signals AS s ON s.id = try_cast(c.key AS BIGINT) JOIN main.accounts AS a ON a.id = s.account_id WHERE c.table_name = 'signals' AND c.change = 'insert' AND s.type = 'funding-alert' AND a.main_score > 70",
    url_env: "FUNDING_URL",
    secret_env: "FUNDING_SECRET",
  },
  {
    name: "champion-left",
    event: "changes",
    sql: "SELECT c.n, old.first_name, old.last_name, old.current_company_name AS left_company, now.current_company_name AS new_company FROM changes AS c JOIN history.contacts AS old ON old.change_n = c.n JOIN main.contacts AS now ON now.id = c.key WHERE c.table_name = 'contacts' AND c.change = 'update' AND old.type = 'champion' AND old.current_company_name IS DISTINCT FROM now.current_company_name",
    url_env: "SLACK_URL",
    format: "slack",
  },
  { name: "failed", event: "run_failed", url_env: "SLACK_URL", format: "slack" },
] as const;

export const alertsSetting = structure(listSchema)
  .prefault([])
  .meta({
    description:
      "Rules that send changes, or how the mirror is doing, to a webhook or a chat: a list of entries with name, event, url and the settings of the event.",
    examples: [EXAMPLE_RULES],
  });

/** The configured rules with their addresses. A variable that is not set is an error of its rule, not of other commands. */
export const resolveAlerts = (
  written: readonly Written[],
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): readonly AlertSettings[] =>
  written.map((rule) => {
    const { name, event, format, batch, sql = "", secret_file: file, after, allow_private: allowPrivate } = rule;
    const textOf = (name: string | undefined) => (name === undefined ? "" : (env[name]?.trim() ?? ""));
    const named = [rule.url_env, rule.secret_env].filter((one) => one !== undefined);
    return {
      name,
      event,
      format,
      batch,
      sql,
      allowPrivate,
      url: new Secret(rule.url ?? textOf(rule.url_env)),
      secret:
        file !== undefined
          ? { file: isAbsolute(file) ? file : resolve(folder, file) }
          : rule.secret_env !== undefined
            ? { value: new Secret(textOf(rule.secret_env)) }
            : null,
      unset: named.filter((one) => textOf(one) === ""),
      afterMs: after ?? DEFAULT_AFTER_MS,
    };
  });
