// The AWS SDK, which is installed only where a destination needs it.
import { DuckmirrorError } from "../../core/errors.ts";

const load = async () => ({
  s3: await import("@aws-sdk/client-s3"),
  multipart: await import("@aws-sdk/lib-storage"),
});
export type S3Packages = Awaited<ReturnType<typeof load>>;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

/** Loads the SDK. Throws DESTINATION_PACKAGE_MISSING. */
export const loadS3 = async (name: string, from: () => Promise<S3Packages> = load): Promise<S3Packages> => {
  try {
    return await from();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const packages = "@aws-sdk/client-s3 @aws-sdk/lib-storage";
    throw new DuckmirrorError("DESTINATION_PACKAGE_MISSING", { name, kind: "parquet", packages }, { cause: error });
  }
};
