// The Redis user that docs/WORKER.md gives duckmirror, with its rights.
import { readFileSync } from "node:fs";

/** Name and rules, as ACL SETUSER takes them. */
export const documentedUser = (password: string): readonly [string, ...string[]] => {
  const text = readFileSync(new URL("../../docs/WORKER.md", import.meta.url), "utf8");
  const rules = /`ACL SETUSER duckmirror (.+?)`/.exec(text)?.[1];
  if (rules === undefined) throw new Error("docs/WORKER.md names no user");
  return ["duckmirror", ...rules.split(" ").map((rule) => (rule === ">PASSWORD" ? `>${password}` : rule))];
};
