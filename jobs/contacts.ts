// Job contacts: mirrors the contacts.
import { familyJob } from "./family.ts";

export const contactsJob = familyJob("contacts", ["contacts"]);
