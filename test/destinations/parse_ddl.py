"""Parses statements with sqlglot. Arguments: dialect, file. Prints the kind of each as JSON."""

import json
import sys

import sqlglot
from sqlglot import exp

kinds = []
for statement in sqlglot.parse(open(sys.argv[2]).read(), read=sys.argv[1]):
    if statement is None:
        continue
    # A statement that sqlglot does not understand becomes a Command.
    kinds.append([type(statement).__name__, statement.args.get("kind"), len(list(statement.find_all(exp.ColumnDef)))])
print(json.dumps(kinds))
