CREATE OR REPLACE TEMP TABLE stage ("id" BIGINT,
  "company_id" VARCHAR,
  "stock_symbol" VARCHAR,
  "year" INTEGER,
  "quarter" INTEGER,
  "happened_at" TIMESTAMPTZ,
  "audio_url" VARCHAR,
  "report_url" VARCHAR,
  "presentation_url" VARCHAR,
  "full_transcript" VARCHAR,
  "generated_analysis" JSON,
  _extra JSON,
  _kept BIGINT,
  _partial BOOLEAN,
  _load INTEGER,
  _received TIMESTAMPTZ,
  _row INTEGER);

SELECT 1 AS present FROM main."earnings_calls" LIMIT 1 OFFSET 4096;

CREATE OR REPLACE TEMP TABLE found AS SELECT t.rowid AS _old FROM main."earnings_calls" AS t JOIN stage AS s ON t."company_id" = s."company_id" AND t."id" = s."id";

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."earnings_calls" AS t JOIN stage AS s ON t."company_id" = s."company_id" AND t."id" = s."id";

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."earnings_calls" AS t JOIN found AS f ON t.rowid = f._old WHERE t.rowid BETWEEN 0 AND 9 UNION ALL SELECT t.*,
  t.rowid AS _old FROM main."earnings_calls" AS t JOIN found AS f ON t.rowid = f._old WHERE t.rowid BETWEEN 90000 AND 90005;

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."earnings_calls" AS t LIMIT 0;

CREATE OR REPLACE TEMP TABLE changed AS SELECT s."id",
  s."company_id",
  s."stock_symbol",
  s."year",
  s."quarter",
  s."happened_at",
  s."audio_url",
  s."report_url",
  CASE WHEN s._kept & 256 <> 0 THEN o."presentation_url" ELSE s."presentation_url" END AS "presentation_url",
  CASE WHEN s._kept & 512 <> 0 THEN o."full_transcript" ELSE s."full_transcript" END AS "full_transcript",
  s."generated_analysis",
  o._first_synced_at,
  greatest(s._received,
  o._synced_at + INTERVAL 1 MICROSECOND) AS _received,
  s._extra,
  s._load,
  o._old,
  NOT (false OR s."stock_symbol" IS DISTINCT FROM o."stock_symbol" OR s."year" IS DISTINCT FROM o."year" OR s."quarter" IS DISTINCT FROM o."quarter" OR s."happened_at" IS DISTINCT FROM o."happened_at" OR s."audio_url" IS DISTINCT FROM o."audio_url" OR s."report_url" IS DISTINCT FROM o."report_url" OR (s._kept & 256 = 0 AND s."presentation_url" IS DISTINCT FROM o."presentation_url") OR (s._kept & 512 = 0 AND s."full_transcript" IS DISTINCT FROM o."full_transcript")) AS _only_json FROM stage AS s JOIN old AS o ON s."company_id" = o."company_id" AND s."id" = o."id" WHERE false OR s."stock_symbol" IS DISTINCT FROM o."stock_symbol" OR s."year" IS DISTINCT FROM o."year" OR s."quarter" IS DISTINCT FROM o."quarter" OR s."happened_at" IS DISTINCT FROM o."happened_at" OR s."audio_url" IS DISTINCT FROM o."audio_url" OR s."report_url" IS DISTINCT FROM o."report_url" OR (s._kept & 256 = 0 AND s."presentation_url" IS DISTINCT FROM o."presentation_url") OR (s._kept & 512 = 0 AND s."full_transcript" IS DISTINCT FROM o."full_transcript") OR s."generated_analysis" IS DISTINCT FROM o."generated_analysis" OR s._extra IS DISTINCT FROM o._extra;

SELECT 1 AS present FROM history."earnings_calls" WHERE valid_to > (SELECT min(_received) FROM stage) LIMIT 1;

UPDATE stage AS s SET _received = e.ended FROM (SELECT "company_id",
  "id",
  max(valid_to) AS ended FROM history."earnings_calls" GROUP BY ALL) AS e WHERE s."company_id" = e."company_id" AND s."id" = e."id" AND e.ended > s._received;

SELECT s._row AS row,
  o._extra AS extra FROM stage AS s JOIN old AS o ON s."company_id" = o."company_id" AND s."id" = o."id" WHERE s._partial AND o._extra IS NOT NULL AND s._extra IS DISTINCT FROM o._extra;

SELECT s._load AS load,
  count(*) AS rows FROM stage AS s ANTI JOIN old AS o ON s."company_id" = o."company_id" AND s."id" = o."id" GROUP BY ALL;

SELECT _load AS load,
  count(*) AS rows FROM changed GROUP BY ALL;

SELECT c._old AS row,
  [CAST(c."generated_analysis" AS VARCHAR),
  CAST(c._extra AS VARCHAR)] AS fresh,
  [CAST(o."generated_analysis" AS VARCHAR),
  CAST(o._extra AS VARCHAR)] AS stored FROM changed AS c JOIN old AS o ON c._old = o._old WHERE c._only_json AND length(CAST(c."generated_analysis" AS VARCHAR)) IS NOT DISTINCT FROM length(CAST(o."generated_analysis" AS VARCHAR)) AND length(CAST(c._extra AS VARCHAR)) IS NOT DISTINCT FROM length(CAST(o._extra AS VARCHAR));

INSERT INTO history."earnings_calls" ("id",
  "company_id",
  "stock_symbol",
  "year",
  "quarter",
  "happened_at",
  "audio_url",
  "report_url",
  "presentation_url",
  "full_transcript",
  "generated_analysis",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra,
  valid_from,
  valid_to,
  change,
  change_n) SELECT o."id",
  o."company_id",
  o."stock_symbol",
  o."year",
  o."quarter",
  o."happened_at",
  o."audio_url",
  o."report_url",
  o."presentation_url",
  o."full_transcript",
  o."generated_analysis",
  o._first_synced_at,
  o._synced_at,
  o._run_id,
  o._extra,
  o._synced_at,
  c._received,
  'update',
  7 FROM old AS o JOIN changed AS c ON c._old = o._old;

(SELECT s."company_id",
  s."id" FROM stage AS s ANTI JOIN old AS o ON s."company_id" = o."company_id" AND s."id" = o."id");

DELETE FROM main."earnings_calls" AS t USING changed AS c WHERE t."company_id" = c."company_id" AND t."id" = c."id";

DELETE FROM main."earnings_calls" WHERE rowid IN (SELECT _old FROM changed);

INSERT INTO main."earnings_calls" ("id",
  "company_id",
  "stock_symbol",
  "year",
  "quarter",
  "happened_at",
  "audio_url",
  "report_url",
  "presentation_url",
  "full_transcript",
  "generated_analysis",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra) SELECT "id",
  "company_id",
  "stock_symbol",
  "year",
  "quarter",
  "happened_at",
  "audio_url",
  "report_url",
  "presentation_url",
  "full_transcript",
  "generated_analysis",
  _first_synced_at,
  _received,
  ?,
  _extra FROM changed;

INSERT INTO main."earnings_calls" ("id",
  "company_id",
  "stock_symbol",
  "year",
  "quarter",
  "happened_at",
  "audio_url",
  "report_url",
  "presentation_url",
  "full_transcript",
  "generated_analysis",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra) SELECT s."id",
  s."company_id",
  s."stock_symbol",
  s."year",
  s."quarter",
  s."happened_at",
  s."audio_url",
  s."report_url",
  s."presentation_url",
  s."full_transcript",
  s."generated_analysis",
  s._received,
  s._received,
  ?,
  s._extra FROM stage AS s ANTI JOIN old AS o ON s."company_id" = o."company_id" AND s."id" = o."id";
