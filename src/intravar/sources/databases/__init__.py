"""Tables in DuckDB, SQLite and PostgreSQL, opened for reading only."""
