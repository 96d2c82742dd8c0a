// The AWS SDK, which is installed only where a destination needs it.
import { loadPackages } from "./store-calls.ts";

const load = async () => ({
  s3: await import("@aws-sdk/client-s3"),
  multipart: await import("@aws-sdk/lib-storage"),
});
export type S3Packages = Awaited<ReturnType<typeof load>>;

/** Loads the SDK. Throws DESTINATION_PACKAGE_MISSING. */
export const loadS3 = (name: string, from: () => Promise<S3Packages> = load): Promise<S3Packages> =>
  loadPackages(name, "@aws-sdk/client-s3 @aws-sdk/lib-storage", from);
