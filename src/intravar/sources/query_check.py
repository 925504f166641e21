"""Check what a PostgreSQL query would run, as the server itself understands the query.

No text filter can do this: quoted names, nested comments and dollar quotes have more rules than a
regular expression knows. The server is therefore asked to parse the query without running it and
to report the result (``debug_print_rewritten``). In this tree every name is resolved to the
function that would be called, views and row policies are expanded, and operators, casts and
aggregates appear as what they call. The catalogue then states for each function whether it may
change something.

A function that the catalogue calls volatile may act outside of the transaction, so that a read-only
transaction alone does not stop it: ``lo_export`` writes a file on the server.
"""

from __future__ import annotations

import re
from typing import Any

from intravar.errors import InputError

#: Volatile functions of PostgreSQL itself that return a value and change nothing.
HARMLESS_VOLATILE = (
    "bernoulli",
    "clock_timestamp",
    "gen_random_uuid",
    "random",
    "random_normal",
    "system",
    "timeofday",
    "uuidv4",
    "uuidv7",
)
#: Functions of PostgreSQL itself that are not volatile but read relations by name: they would run
#: the functions of a view that the tree does not show.
READ_BY_NAME = (
    "database_to_xml",
    "database_to_xml_and_xmlschema",
    "query_to_xml",
    "query_to_xml_and_xmlschema",
    "query_to_xmlschema",
    "schema_to_xml",
    "schema_to_xml_and_xmlschema",
    "table_to_xml",
    "table_to_xml_and_xmlschema",
    "ts_rewrite",
    "ts_stat",
)
#: Roles of PostgreSQL that may reach files or programs of the server.
POWERFUL_ROLES = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")

# Fields of the tree that hold the number of a function, an operator or a type.
_FUNCTION = re.compile(
    r":(?:funcid|aggfnoid|winfnoid|opfuncid|hashfuncid|negfuncid|elemfuncid|startInRangeFunc"
    r"|endInRangeFunc|tsmhandler)\s+(\d+)"
)
_OPERATOR = re.compile(r":(?:opno|eqop|sortop|cycle_mark_neop)\s+(\d+)")
_OPERATORS = re.compile(r":opnos\s+\(o\s([\d\s]*)\)")
_TYPE = re.compile(r":(?:resulttype|consttype|funcresulttype)\s+(\d+)")
_NOT_ONE_SELECT = re.compile(
    r"\{QUERY\s+:commandType\s+(?!1\s)|:utilityStmt\s+\{|:hasModifyingCTE\s+true"
)

# A domain may be made of another one; the checks of both are run.
_DOMAIN_CHECKS = """
WITH RECURSIVE made_of AS (
    SELECT t.oid, t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid = ANY(%s)
    UNION SELECT t.oid, t.typbasetype
    FROM made_of JOIN pg_catalog.pg_type t ON t.oid = made_of.typbasetype
)
SELECT c.conbin::text FROM pg_catalog.pg_constraint c JOIN made_of ON made_of.oid = c.contypid
WHERE c.conbin IS NOT NULL
"""
# An aggregate is always called immutable; what it calls is listed beside it.
_REFUSED_FUNCTIONS = """
WITH called AS (
    SELECT p.oid FROM pg_catalog.pg_proc p WHERE p.oid = ANY(%(functions)s)
    UNION SELECT o.oprcode FROM pg_catalog.pg_operator o WHERE o.oid = ANY(%(operators)s)
    UNION SELECT part FROM pg_catalog.pg_aggregate a, LATERAL unnest(ARRAY[
        a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
        a.aggminvtransfn, a.aggmfinalfn]::oid[]) AS part
    WHERE a.aggfnoid = ANY(%(functions)s)
)
SELECT p.proname,
       CASE WHEN p.provolatile = 'v' THEN 'volatile'
            WHEN n.nspname = 'pg_catalog' THEN 'by name'
            ELSE 'runs text' END
FROM called
JOIN pg_catalog.pg_proc p ON p.oid = called.oid
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE CASE
    WHEN n.nspname = 'pg_catalog' THEN
        (p.provolatile = 'v' AND NOT p.proname = ANY(%(harmless)s)) OR p.proname = ANY(%(by_name)s)
    ELSE p.provolatile = 'v' OR (
        p.provolatile = 's' AND l.lanname = 'c' AND EXISTS (
            SELECT FROM unnest(p.proargtypes::oid[]) AS argument
            WHERE argument IN ('text'::regtype, 'varchar'::regtype, 'cstring'::regtype)))
    END
ORDER BY 1
"""
_REASONS = {
    "volatile": "may change something (the database calls it volatile)",
    "by name": "reads tables by a name that it is given",
    "runs text": "may run a text that it is given (it is written in C and reads the database)",
}
_REMEDY = (
    "select from tables and views alone, or declare the function STABLE or IMMUTABLE if it only "
    "computes"
)


def check_query(connection: Any, query: str) -> None:
    """Refuse a query that could do anything but read the database.

    The server parses and analyses the query and does not run it. Only functions that read the
    constants of the query are called, for instance that of dates for ``date '2020-01-31'``.

    Parameters
    ----------
    connection : psycopg.Connection
        A connection inside a transaction; settings are changed until its end.
    query : str
        The text exactly as it will be run.

    Raises
    ------
    InputError
        If the query is not one SELECT, or calls a function that may change something.
    psycopg.Error
        If the server cannot parse the query.
    """
    tree = _analysed(connection, query)
    if _NOT_ONE_SELECT.search(tree):
        raise InputError(
            "the query is refused: it does not only read; give one SELECT that changes nothing"
        )
    types = _numbers(_TYPE, tree)
    for (check,) in connection.execute(_DOMAIN_CHECKS, [types]).fetchall():
        tree += f" {check}"
    operators = _numbers(_OPERATOR, tree)
    for listed in _OPERATORS.findall(tree):
        operators += [int(number) for number in listed.split()]
    refused = connection.execute(
        _REFUSED_FUNCTIONS,
        {
            "functions": _numbers(_FUNCTION, tree),
            "operators": operators,
            "harmless": list(HARMLESS_VOLATILE),
            "by_name": list(READ_BY_NAME),
        },
    ).fetchall()
    if refused:
        name, reason = refused[0]
        raise InputError(
            f"the query is refused: the function '{name}' {_REASONS[reason]}; {_REMEDY}"
        )


def _analysed(connection: Any, query: str) -> str:
    """Return the tree that the server makes of a query, without running the query."""
    from psycopg import Error, errors
    from psycopg.pq import DiagnosticField, ExecStatus

    trees: list[str] = []

    def keep(message: Any) -> None:
        detail = message.message_detail or ""
        if "{QUERY" in detail:
            trees.append(detail)

    connection.execute("SET LOCAL debug_pretty_print = off")
    connection.execute("SET LOCAL client_min_messages = log")
    connection.execute("SET LOCAL debug_print_rewritten = on")
    connection.add_notice_handler(keep)
    try:
        # The extended protocol takes one statement and refuses several.
        prepared = connection.pgconn.prepare(b"", query.encode())
    finally:
        connection.remove_notice_handler(keep)
    if prepared.status != ExecStatus.COMMAND_OK:
        code = (prepared.error_field(DiagnosticField.SQLSTATE) or b"").decode()
        message = prepared.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"no reason was given"
        try:
            kind = errors.lookup(code)
        except KeyError:
            kind = Error
        raise kind(message.decode(errors="replace"))
    connection.execute("SET LOCAL debug_print_rewritten = off")
    connection.execute("SET LOCAL client_min_messages = notice")
    if not trees:
        raise InputError(
            "the server does not report what the query would run, so that nothing is run; connect "
            "to PostgreSQL itself, without a pooler in between"
        )
    return " ".join(trees)


def _numbers(field: re.Pattern[str], tree: str) -> list[int]:
    return sorted({int(number) for number in field.findall(tree)})


def drop_powers(connection: Any) -> str | None:
    """Give up the rights to files and programs of the server for the rest of the session.

    A superuser becomes `pg_read_all_data`, a role of PostgreSQL that may read all tables and
    nothing else. Row policies then fail instead of leaving rows out silently.

    Returns
    -------
    str or None
        The name of the role if it has such rights and cannot give them up; such a role may name
        tables but not run a query. None for other roles.
    """
    name, is_superuser, reader_exists, is_powerful = connection.execute(
        """
        SELECT current_user, r.rolsuper,
               EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'pg_read_all_data'),
               EXISTS (SELECT FROM pg_catalog.pg_roles p WHERE p.rolname = ANY(%s)
                       AND pg_catalog.pg_has_role(r.oid, p.oid, 'MEMBER'))
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
        """,
        [list(POWERFUL_ROLES)],
    ).fetchone()
    if is_superuser and reader_exists:
        connection.execute("SET ROLE pg_read_all_data")
        connection.execute("SET row_security = off")
        return None
    return str(name) if is_superuser or is_powerful else None
