"""guilds-code: shell, files and code search of an agent, one process a call."""
