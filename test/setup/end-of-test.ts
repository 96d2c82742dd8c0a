// Setup of every test file: what a test left to do after it (test/support/after-test.ts).
import { afterEach } from "vitest";
import { runEndings } from "../support/after-test.ts";

afterEach(runEndings);
