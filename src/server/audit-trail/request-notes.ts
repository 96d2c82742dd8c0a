// Notes about a request that its handlers leave for its line in the audit trail (hooks.ts).
import type { FastifyRequest } from "fastify";
import { type Admission, allows } from "../access/access-checks.ts";
import { networkOf } from "../access/connection-limits.ts";

export interface RequestNotes {
  /** When the request arrived, ms since the epoch. */
  startedAt: number;
  /** Access that the request proved; null: it was refused. */
  access: Exclude<Admission, { readonly by: "nothing" }> | null;
  /** The access check refused it, or it had a wrong key. */
  denied: boolean;
  /** Code of its error; null: none. */
  outcome: string | null;
  rows: number | null;
  /** Size of a body that is sent as a stream. */
  bytes: number | null;
  runId: string | null;
  /** Profile -> run, of a request for all profiles. */
  readonly runIds: Map<string, string>;
}

const notes = new WeakMap<FastifyRequest, RequestNotes>();

export const notesOf = (request: FastifyRequest): RequestNotes => {
  const known = notes.get(request);
  if (known !== undefined) return known;
  const fresh = {
    startedAt: 0,
    access: null,
    denied: false,
    outcome: null,
    rows: null,
    bytes: null,
    runId: null,
    runIds: new Map<string, string>(),
  };
  notes.set(request, fresh);
  return fresh;
};

/** The key of the request or, without one, its network. */
export const askerOf = (request: FastifyRequest): string => {
  const { access } = notesOf(request);
  return access === null || access.by === "open" ? `from ${networkOf(request.ip)}` : `key ${access.holder.name}`;
};

/** Whether the key of this request may start and change something. */
export const mayOperate = (request: FastifyRequest): boolean => {
  const { access } = notesOf(request);
  return access?.by === "open" || (access !== null && allows(access.holder.role, "operate"));
};
