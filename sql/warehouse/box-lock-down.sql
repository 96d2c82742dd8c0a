-- Purpose: before SQL that a user wrote: no file can be opened, written or listed (what is open already is still read;
-- spilling ends), no network, no extension, no change of settings. The locks are no sandbox: src/warehouse/box.
-- Parameters: none. Readers: src/warehouse/box/program.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
SET GLOBAL disabled_filesystems = 'LocalFileSystem';
SET GLOBAL lock_configuration = true;
