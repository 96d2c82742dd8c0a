// A message as text for chats that take Slack's incoming webhooks. Pure.
// Source: https://api.slack.com/messaging/webhooks; &, < and > are escaped as Slack asks.
import type { AlertEvent, Message } from "./message.ts";

/** Most characters of a value, and of a message: Slack cuts longer ones. */
const VALUE_LENGTH = 300;
const TEXT_LENGTH = 30_000;

/** A line break in a value would begin a line that looks like one of duckmirror's own. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ↵ ");

const escaped = (text: string): string =>
  oneLine(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const shownValue = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
};

const lineOf = ({ type, row }: AlertEvent): string => {
  const values = Object.entries(row).filter(([, value]) => value !== null && value !== "");
  const what = type === "change.found" ? "" : `${type} `;
  return `• ${what}${escaped(values.map(([name, value]) => `${name}: ${shownValue(value)}`).join(", "))}`;
};

/** The body to post. */
export const slackBody = ({ body }: Pick<Message, "body">): string => {
  const { rule, profile, events } = body.data;
  const head = `*${escaped(rule)}*${profile === "default" ? "" : ` (${escaped(profile)})`}`;
  const lines = [head, ...events.map(lineOf)].join("\n");
  return JSON.stringify({ text: lines.length > TEXT_LENGTH ? `${lines.slice(0, TEXT_LENGTH)}…` : lines });
};
