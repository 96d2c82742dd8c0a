// A server's proof that it knows a client's key. The client asks for it before it sends the key, because another
// program may listen in the worker's place. A proof is valid for one random text and one port, so it cannot be used
// again, nor for a program on another port. It takes long to compute (scrypt), so that nobody finds a chosen key by
// trying many.
import { createHmac, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { z } from "zod";
import { hashOfKey } from "./key-store.ts";
import { type Keyring, sameText } from "./keyring.ts";

const derive = promisify<string, string, number, Buffer>(scrypt);

export const PROOF_PATH = "/key-proof";
export const nonceSchema = z.string().regex(/^[0-9a-f]{64}$/);
/** The server's answer: one proof for each of its valid keys. */
export const proofSchema = z.object({ salt: z.string(), proofs: z.array(z.string()) });
type Proof = z.output<typeof proofSchema>;

const proofOf = (derived: Buffer, port: number, nonce: string): string =>
  createHmac("sha256", derived).update(`duckmirror ${port} ${nonce}`).digest("hex");

/** Proves the server's keys. `port`: the one that the client called. */
export type Prover = (nonce: string, port: number, now: number) => Promise<Proof>;

export const createProver = (keyring: Keyring): Prover => {
  const salt = randomBytes(16).toString("hex");
  const derived = new Map<string, Promise<Buffer>>();
  return async (nonce, port, now) => {
    const hashes = keyring.hashes(now);
    for (const known of derived.keys()) if (!hashes.includes(known)) derived.delete(known);
    const proofs: string[] = [];
    for (const hash of hashes) {
      const key = derived.get(hash) ?? derive(hash, salt, 32);
      derived.set(hash, key);
      proofs.push(proofOf(await key, port, nonce));
    }
    return { salt, proofs };
  };
};

/** Whether one of the proofs is for this key. `port`: the one that was called. */
export const provesKey = async (
  { salt, proofs }: Proof,
  key: string,
  port: number,
  nonce: string,
): Promise<boolean> => {
  const wanted = proofOf(await derive(hashOfKey(key), salt, 32), port, nonce);
  return proofs.some((proof) => sameText(proof, wanted));
};
