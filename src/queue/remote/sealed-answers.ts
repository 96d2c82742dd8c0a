// Sealed answers: responses in the mailbox, encrypted for their mirror and delivery. Layout before encryption: length of the
// note (4 bytes), note (JSON), body.
import { z } from "zod";
import type { DuckmirrorError } from "../../core/errors.ts";
import { isForOthers, unreadable } from "../asking/payloads.ts";
import { deliveryId, type Mailbox } from "./mailbox.ts";
import { noteSchema } from "./messages.ts";
import type { Packed } from "./packed-answer.ts";
import type { Seals } from "./seals.ts";

const LENGTH_BYTES = 4;

const placeOf = (mirror: string, delivery: string): string => `${mirror} ${delivery}`;

export const sealAnswer = (seals: Seals, mirror: string, delivery: string, { note, body }: Packed): Buffer => {
  const text = Buffer.from(JSON.stringify(note));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  return seals.lock(Buffer.concat([length, text, body]), placeOf(mirror, delivery));
};

const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "is not JSON" });
    return z.NEVER;
  }
});

export type OpenedAnswer =
  | { readonly kind: "answer"; readonly packed: Packed }
  | { readonly kind: "none" }
  /** Only a program of another version reads it. */
  | { readonly kind: "unread"; readonly error: DuckmirrorError }
  /** Nobody with this organization's token wrote it for this delivery: it is not believed. */
  | { readonly kind: "strange" };

const STRANGE: OpenedAnswer = { kind: "strange" };

const unsealed = (seals: Seals, mirror: string, delivery: string, locked: Buffer): OpenedAnswer => {
  const plain = seals.unlock(locked, placeOf(mirror, delivery));
  if (plain === null || plain.length < LENGTH_BYTES) return STRANGE;
  const bodyAt = LENGTH_BYTES + plain.readUInt32BE();
  const { data: json } = jsonText.safeParse(plain.toString("utf8", LENGTH_BYTES, bodyAt));
  if (isForOthers(json)) return { kind: "unread", error: unreadable(delivery, json) };
  const { data: note } = noteSchema.safeParse(json);
  if (note === undefined || deliveryId(note.request.requestId, note.nth) !== delivery) return STRANGE;
  return { kind: "answer", packed: { note, body: plain.subarray(bodyAt) } };
};

/** Reads an answer from the mailbox. Rejects with Redis's errors. */
export const openAnswer = async (
  { mailbox, seals, mirror }: { readonly mailbox: Mailbox; readonly seals: Seals; readonly mirror: string },
  delivery: string,
): Promise<OpenedAnswer> => {
  const locked = await mailbox.read(delivery);
  if (locked === null) return { kind: "none" };
  return unsealed(seals, mirror, delivery, locked);
};
