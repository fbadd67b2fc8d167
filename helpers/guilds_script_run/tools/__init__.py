"""The tools of guilds-script-run, one module each."""
