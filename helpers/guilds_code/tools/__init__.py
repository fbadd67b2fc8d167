"""The tools of guilds-code, a module each, whose function bears the tool's name."""
