// The packages of this kind are optional: they are loaded when a destination of it is opened.
import { DuckmirrorError } from "../../../core/errors.ts";

/** The packages of this kind. Throws DESTINATION_PACKAGE_MISSING. */
export const loadPackages = async (name: string) => {
  try {
    const [{ default: pg }, copies] = await Promise.all([import("pg"), import("pg-copy-streams")]);
    return { Client: pg.Client, copyFrom: copies.from };
  } catch (cause) {
    const packages = "pg pg-copy-streams";
    throw new DuckmirrorError("DESTINATION_PACKAGE_MISSING", { name, kind: "postgres", packages }, { cause });
  }
};
export type Packages = Awaited<ReturnType<typeof loadPackages>>;
