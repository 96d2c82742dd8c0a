{#
  Target `parquet`: views over the exported files stand where the snapshot's tables would, so that sources, models and
  tests are the same for both. A table without rows may have no file; it becomes an empty table with the columns that
  sources.yml names. Runs before every command that builds or tests (dbt_project.yml, on-run-start).
#}
{% macro mirror_over_parquet() %}
  {% if target.name == 'parquet' and execute %}
    {% set folder = env_var('DUCKMIRROR_EXPORT', '../../../data/export') %}
    {% for source in graph.sources.values() %}
      {% set name = source.name if source.schema == 'main' else source.schema ~ '.' ~ source.name %}
      {% set files = folder ~ '/' ~ name ~ '/**/*.parquet' %}
      {% set place = 'mirror.' ~ adapter.quote(source.schema) ~ '.' ~ adapter.quote(source.name) %}
      {% do run_query('create schema if not exists mirror.' ~ adapter.quote(source.schema)) %}
      {% if run_query("select count(*) from glob('" ~ files ~ "')").columns[0].values()[0] > 0 %}
        {% set content = "select * from read_parquet('" ~ files ~ "')" %}
      {% else %}
        {% set columns = [] %}
        {% for column in source.columns.values() %}
          {% do columns.append('cast(null as ' ~ (column.data_type or 'varchar') ~ ') as ' ~ adapter.quote(column.name)) %}
        {% endfor %}
        {% set content = 'select ' ~ columns | join(', ') ~ ' where false' %}
      {% endif %}
      {% do run_query('create or replace view ' ~ place ~ ' as ' ~ content) %}
    {% endfor %}
  {% endif %}
{% endmacro %}
