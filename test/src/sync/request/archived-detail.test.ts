// What the archive keeps beside a response.
import { expect, test } from "vitest";
import { archivedDetail } from "../../../../src/sync/request/archived-detail.ts";

test("details of older versions lack what these did not store", () => {
  expect(archivedDetail.parse({ read: null, overlap: null })).toEqual({
    read: null,
    overlap: null,
    granted: [],
    along: null,
    work: null,
  });
  expect(archivedDetail.safeParse({ read: { page: 1 }, overlap: null }).success).toBe(false);
});
