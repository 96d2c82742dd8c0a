"""What Superset does with the address and the engine parameters of the recipe. Usage: superset_engine.py <address> <parameters>"""
import json
import sys

from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool

engine = create_engine(sys.argv[1], poolclass=NullPool, **json.loads(sys.argv[2]))
with engine.connect() as connection:
    print(connection.execute(text("SELECT count(*) FROM marts.account_360")).scalar_one())
print(" ".join(inspect(engine).get_table_names()))
