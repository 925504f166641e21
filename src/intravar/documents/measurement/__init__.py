"""The document of a measurement: its first screen, charts, table and sections."""
