"""guilds-script-run: runs the Python scripts that an agent has saved in its home."""
