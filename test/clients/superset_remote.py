"""Superset with the recipe for an address: one question, and the tables that it lists."""
from flask_appbuilder import Model
from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.extensions import db
    from superset.models.core import Database

    Model.metadata.create_all(db.engine)
    mirror = Database(database_name="mirror", sqlalchemy_uri="duckdb:///:memory:")
    db.session.add(mirror)
    db.session.commit()
    rows = mirror.get_df("SELECT count(*) AS n FROM marts.account_360").to_dict()
    tables = mirror.get_all_table_names_in_schema(catalog=None, schema="main")
print("rows", rows["n"][0])
print("tables", " ".join(sorted(name for name, *_ in tables)))
