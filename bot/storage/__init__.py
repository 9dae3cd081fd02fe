"""The database: its server, its schema, its rows."""
